package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ptyctl/internal/cliadvice"
	"ptyctl/internal/tty"
	"ptyctl/sshx"
	"ptyctl/term"
)

// diagnosis returns the reason why a connection failed, and advice. h and ids are the target's.
func diagnosis(err error, h *sshx.InspectedHost, ids []sshx.Identity, asked bool) Finding {
	f := Finding{Status: failing, Check: "connection", Text: err.Error()}
	e, ok := errors.AsType[*term.Error](err)
	if !ok {
		return f
	}
	if e.Kind == term.PolicyDenied {
		return refused(e)
	}
	d := term.FactOf[term.ConnectFailure](e)
	f.Text = cliadvice.Fact(e)
	step, at := "", term.Hop{Host: h.Config.HostName, Port: h.Config.Port}
	if n := len(d.Ladder); n > 0 {
		at = d.Ladder[n-1]
		step = failedStep(at)
	}
	server := net.JoinHostPort(at.Host, strconv.Itoa(at.Port))
	set := func(keyword string) string {
		return fmt.Sprintf("%s is set by: %s", keyword, h.Config.Origin(keyword))
	}
	switch e.Kind {
	case term.HostKeyUnknown:
		f.Do = fmt.Sprintf(
			"ask the host's operator for its fingerprint; if it is %s, record it with: ssh-keyscan -p %d %s >> %s",
			term.FactOf[term.HostKeyFailure](e).Fingerprint,
			at.Port,
			at.Host,
			firstOf(h.KnownHosts),
		)
	case term.HostKeyMismatch:
		f.Do = "do not log in there before its operator has told you that the key was changed; " +
			"then remove the old one with: " + removeKey(term.FactOf[term.HostKeyFailure](e), at)
	case term.HostKeyRevoked:
		f.Do = "do not log in there: the key is marked as stolen; ask the owner of the revocation list"
	case term.AuthFailed:
		f.Text = loginFailure(d, term.FactOf[term.Denial](e), at)
		f.Do = loginAdvice(d, at, ids, h, asked)
	case term.ConnectTimeout:
		switch step {
		case "dns":
			f.Do = "check this machine's name service (resolv.conf), or put the address into HostName"
		case "tcp":
			f.Do = "check that the address is right and that no firewall or missing VPN drops the way to " +
				server + "; " + set("HostName")
		case proxyBanner:
			f.Do = tryCommand
		case "banner":
			f.Do = server + " takes connections and says nothing: check that an SSH server listens there, " +
				"or whether it is overloaded; " + set("Port")
		default:
			f.Do = "try again with a larger --timeout; if it stops at the same step, look at the server's log"
		}
	default:
		switch {
		case step == "dns":
			f.Do = "correct the name, or give its address with HostName in your ssh_config; " + set("HostName")
		case errors.Is(err, syscall.ECONNREFUSED):
			f.Do = "start an SSH server on " + server + ", or correct the port; " + set("Port")
		case errors.Is(err, syscall.EADDRNOTAVAIL): // of this machine: no local port is left, or BindAddress is wrong
			f.Do = e.Advice
		case step == "tcp":
			f.Do = "check this machine's network, and that " + server + " is right; " + set("HostName")
		case step == "proxy":
			f.Do = e.Advice
		case step == proxyBanner:
			f.Do = tryCommand
		case step == "banner":
			f.Do = "check with the host's operator what listens on " + server + "; " + set("Port")
		case step == "kex":
			f.Do = "look for something on the way that interferes, and in the server's log for its reason"
			if len(d.ServerOffers) > 0 {
				f.Do = "have the server updated, or allow one of " + strings.Join(d.ServerOffers, ", ") +
					" for this host in your ssh_config"
			}
		case step == "channel":
			f.Do = "the login succeeded: ask the host's operator whether this account may open sessions"
		}
	}
	return f
}

// proxyBanner is the step banner of a connection that a ProxyCommand carries: no address of this machine's was reached.
const proxyBanner = "banner through a ProxyCommand"

// tryCommand is the advice about a ProxyCommand that runs, where no SSH server has answered through it.
const tryCommand = "run the ProxyCommand in a shell to see what answers through it: an SSH server sends a line that " +
	"begins with SSH-2.0"

// failedStep returns the step of a hop that is the reason of its failure: the last one, unless the ProxyCommand that
// carried the connection has failed.
func failedStep(at term.Hop) string {
	step, proxied := "", false
	for _, s := range at.Steps {
		if step = s.Name; step == "proxy" {
			if !s.OK {
				return step
			}
			proxied = true
		}
	}
	if proxied && step == "banner" {
		return proxyBanner
	}
	return step
}

// loginFailure lists the attempts to log in, by names and fingerprints.
func loginFailure(d term.ConnectFailure, withheld term.Denial, at term.Hop) string {
	text := fmt.Sprintf("%s@%s refused the login: ", at.User, at.Host)
	if len(d.MethodsTried) == 0 {
		text += "there was nothing to try"
	} else {
		text += "tried " + strings.Join(d.MethodsTried, ", ")
	}
	if len(d.KeysOffered) > 0 {
		text += " (keys: " + strings.Join(d.KeysOffered, ", ") + ")"
	}
	if len(d.KeysUntried) > 0 {
		text += "; the server ended the login before these could be tried: " + strings.Join(d.KeysUntried, ", ")
	}
	if len(d.Unused) > 0 {
		text += "; " + strings.Join(d.Unused, "; ")
	}
	if len(d.MethodsAllowed) > 0 {
		text += "; the server allows " + strings.Join(d.MethodsAllowed, ", ")
	}
	if withheld.Rule != "" {
		text += "; other credentials are withheld by " + withheld.Rule
	}
	return text
}

// loginAdvice returns the advice after a failed login: the likeliest cause first.
func loginAdvice(d term.ConnectFailure, at term.Hop, ids []sshx.Identity, h *sshx.InspectedHost, asked bool) string {
	if len(d.KeysUntried) > 0 {
		return fmt.Sprintf(
			"name the right key for this host with IdentityFile, and set IdentitiesOnly yes there: "+
				"the server ends a login after a few keys (MaxAuthTries), and %s came too late",
			tty.Count(len(d.KeysUntried), "key"),
		)
	}
	if advice := certificateAdvice(d, at, ids, h); advice != "" {
		return advice
	}
	tried := strings.Join(d.MethodsTried, " ")
	switch {
	case strings.Contains(tried, "password") || strings.Contains(tried, "keyboard-interactive"):
		return fmt.Sprintf(
			"check the password, and that %q is the right user; %s",
			at.User,
			"User is set by: "+h.Config.Origin("User").String(),
		)
	case len(d.KeysOffered) > 0:
		return fmt.Sprintf(
			"none of %s is let in as %q: name the right key with IdentityFile, or add one there with: "+
				"ssh-copy-id -i KEY.pub -p %d %s@%s",
			tty.Count(len(d.KeysOffered), "offered key"),
			at.User,
			at.Port,
			at.User,
			at.Host,
		)
	case !asked && strings.Contains(strings.Join(d.MethodsAllowed, " "), "password"):
		return "the server takes a password: run ptyctl doctor on a terminal, without --batch, to be asked for it"
	case h.Agent == "":
		return "there was no key to offer: start an agent with: " + here.startAgent + ", or name a key with IdentityFile"
	default:
		return "there was no key to offer: add one to the agent with: ssh-add, or name one with IdentityFile"
	}
}

// certificateAdvice returns the advice after a failed login with a certificate, or "" without any.
func certificateAdvice(d term.ConnectFailure, at term.Hop, ids []sshx.Identity, h *sshx.InspectedHost) string {
	usable := func(id sshx.Identity) bool { return id.Certificate != nil && id.Problem == "" }
	offered := func(id sshx.Identity) bool {
		return slices.ContainsFunc(d.KeysOffered, func(name string) bool {
			return name == id.Fingerprint+" (certificate)"
		})
	}
	var certs []sshx.Identity
	for _, id := range ids {
		if id.Certificate != nil {
			certs = append(certs, id)
		}
	}
	if i := slices.IndexFunc(certs, func(id sshx.Identity) bool { return usable(id) && !offered(id) }); i >= 0 {
		c := certs[i]
		switch {
		case !slices.Contains(h.Config.PubkeyAcceptedAlgorithms, c.Type) && !strings.HasPrefix(c.Type, "ssh-rsa"):
			return fmt.Sprintf("allow the certificate's algorithm: PubkeyAcceptedAlgorithms +%s; it is set by: %s",
				c.Type, h.Config.Origin("PubkeyAcceptedAlgorithms"))
		case h.Config.IdentitiesOnly && c.From == "agent":
			return "the agent's certificate is left out by IdentitiesOnly: name it with CertificateFile, " +
				"or remove IdentitiesOnly; it is set by: " + h.Config.Origin("IdentitiesOnly").String()
		}
	}
	if i := slices.IndexFunc(certs, func(id sshx.Identity) bool {
		return usable(id) && offered(id) && names(id.Certificate, at.User)
	}); i >= 0 {
		return fmt.Sprintf(
			"the server refuses the certificate of %s: ask its operator whether it trusts the authority "+
				"with the key %s (TrustedUserCAKeys), and lets its principals in as %q",
			certs[i].From,
			certs[i].Certificate.Authority,
			at.User,
		)
	}
	if i := slices.IndexFunc(certs, func(id sshx.Identity) bool { return usable(id) && offered(id) }); i >= 0 {
		c := certs[i].Certificate
		return fmt.Sprintf("get a certificate for %s: that of %s is for %s", at.User, certs[i].From,
			cmp.Or(principals(c), "nobody"))
	}
	if i := slices.IndexFunc(certs, func(id sshx.Identity) bool { return id.Problem != "" }); i >= 0 {
		return "get a new certificate: of " + certs[i].From + ", " + certs[i].Problem
	}
	return ""
}

// removeKey is the command that takes the recorded key of a host out of its file.
func removeKey(d term.HostKeyFailure, at term.Hop) string {
	name := at.Host
	if at.Port != 22 {
		name = fmt.Sprintf("[%s]:%d", at.Host, at.Port)
	}
	line := []string{"ssh-keygen", "-R", name}
	if len(d.Recorded) > 0 && d.Recorded[0].File != "" {
		line = append(line, "-f", d.Recorded[0].File)
	}
	return here.show(line)
}

func firstOf(files []string) string {
	if len(files) == 0 {
		return "~/.ssh/known_hosts"
	}
	return files[0]
}
