package inventory

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"ptyctl/fleet/nodeset"
)

// vars are the variables that have an effect.
type vars struct{ address, user, port setting }

// A setting is the value of such a variable. It is empty if the variable was not given.
type setting struct {
	text    string
	problem string // why the value that was given cannot be used
}

// with returns v with the settings that are given in over instead.
func (v vars) with(over vars) vars {
	return vars{cmp.Or(over.address, v.address), cmp.Or(over.user, v.user), cmp.Or(over.port, v.port)}
}

// problem says why one of the settings cannot be used.
func (v vars) problem() string { return cmp.Or(v.address.problem, v.user.problem, v.port.problem) }

// A value of a variable: its text, or a description of a value that is no text.
type value struct {
	text   string
	opaque string // "encrypted with Ansible Vault", "a list"; "": a text
}

// variable takes a variable of a host or a group, or counts it. No error shows a value: it may be a secret.
func (b *builder) variable(v *vars, name string, val value, line int) {
	s, form, valid := &v.address, "no name and no address", address
	switch strings.Replace(name, "ansible_ssh_", "ansible_", 1) {
	case "ansible_host":
	case "ansible_user":
		s, form, valid = &v.user, "no name of an account", account
	case "ansible_port":
		s, form, valid = &v.port, "no number from 1 to 65535", func(text string) bool { return portNumber(text) > 0 }
	default:
		b.ignore("the variable " + plain(name))
		return
	}
	text, wrong := strings.TrimSpace(val.text), val.opaque
	switch {
	case wrong != "":
	case strings.Contains(text, "{{") || strings.Contains(text, "{%"):
		wrong = "a template"
	case strings.HasPrefix(text, "$ANSIBLE_VAULT"):
		wrong = "encrypted with Ansible Vault"
	case !valid(text):
		wrong = form
	default:
		*s = setting{text: text}
		return
	}
	*s = setting{problem: fmt.Sprintf("its %s at %s:%d is %s", name, b.path, line, wrong)}
}

// portNumber returns the number of a port, or 0.
func portNumber(text string) int {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// plain returns name if it looks like the name of a variable, else a description: the line may hold a secret.
func plain(name string) string {
	for i, r := range name {
		if r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') || i >= 64 {
			return "with an unusual name"
		}
	}
	return cmp.Or(name, "without a name")
}

// address reports whether a text is a host to connect to.
func address(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	return nodeset.Name(text) && len(text) <= 255 && text[0] != '-' &&
		!strings.ContainsAny(text, ":@/[]%$`\\|;<>(){}#~*?=")
}

// account reports whether a text can be the name of an account. Programs of ssh_config may get it as an argument.
func account(text string) bool {
	return text != "" && len(text) <= 255 && text[0] != '-' && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("'\"`$;&<>|(){}:", r)
	})
}
