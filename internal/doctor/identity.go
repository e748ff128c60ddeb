package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ptyctl/internal/tty"
	"ptyctl/sshx"
	"ptyctl/term"
)

// identities reports the keys for a login at a host.
func (r *Report) identities(ctx context.Context, h *sshx.InspectedHost) []sshx.Identity {
	ids, agentErr := h.Identities(ctx)
	inAgent := 0
	for _, id := range ids {
		if id.From == "agent" {
			inAgent++
		}
	}
	switch {
	case h.Agent == "", errors.Is(agentErr, sshx.ErrNoAgent):
		r.add(
			Finding{
				Status: noted,
				Check:  "agent",
				Text:   "there is none to ask for keys: " + here.noAgent,
				Do:     "start one with: " + here.startAgent,
			},
		)
	case agentErr != nil:
		r.add(
			Finding{
				Status: failing,
				Check:  "agent",
				Text:   fmt.Sprintf("%s: %v", h.Agent, agentErr),
				Do:     "start a new one with: " + here.startAgent,
			},
		)
	case inAgent == 0:
		r.add(Finding{Status: noted, Check: "agent", Text: h.Agent + " holds no key", Do: "add one with: ssh-add"})
	default:
		r.ok("agent", "%s holds %s", h.Agent, tty.Count(inAgent, "key"))
	}
	for _, id := range ids {
		r.identity(id, h.Config.User)
	}
	if len(ids) == 0 {
		r.add(
			Finding{
				Status: noted,
				Check:  "keys",
				Text:   "there is no key to log in with",
				Do:     "make one with: ssh-keygen -t ed25519, and " + here.installKey,
			},
		)
	}
	return ids
}

// identity reports a key for a login as user.
func (r *Report) identity(id sshx.Identity, user string) {
	f := Finding{Status: fine, Check: "key", Text: describeIdentity(id)}
	file := here.show([]string{id.From})
	switch {
	case id.Problem == "":
	case id.Certificate != nil:
		f.Status, f.Do = failing, "get a new certificate from the authority with the key "+id.Certificate.Authority
	case strings.Contains(id.Problem, "chmod"):
		f.Status, f.Do = failing, "chmod 600 "+file
	default:
		f.Status, f.Do = noted, "correct the file, or the line of ssh_config that names it"
	}
	if id.Certificate != nil {
		f.Check = "certificate"
		if id.Problem == "" && !names(id.Certificate, user) {
			// No failure: the server may have another list (sshd_config(5) AuthorizedPrincipalsFile).
			f.Status, f.Text = noted, f.Text+" - it is not for "+user
			f.Do = "get a certificate for " + user + ", or log in as one of its principals"
		}
	}
	r.add(f)
}

// names reports whether a certificate names a user among its principals. One without principals is for no one
// (sshd_config(5) TrustedUserCAKeys).
func names(c *sshx.CertificateInfo, user string) bool { return slices.Contains(c.Principals, user) }

// principals names the principals of a certificate, which an authority or an agent has chosen.
func principals(c *sshx.CertificateInfo) string {
	return strings.Join(term.ForeignNames(c.Principals), ", ")
}

// maxNote is the most bytes shown of the comment or the type of a key.
const maxNote = 200

// describeIdentity names a key by its public properties.
func describeIdentity(id sshx.Identity) string {
	parts := []string{id.From + ":"}
	if id.Fingerprint != "" {
		parts = append(parts, id.Fingerprint)
	}
	var notes []string
	if id.Type != "" {
		notes = append(notes, term.ForeignLine(id.Type, maxNote))
	}
	if id.Comment != "" {
		notes = append(notes, term.ForeignLine(id.Comment, maxNote))
	}
	if id.Encrypted {
		notes = append(notes, "encrypted: its passphrase will be asked for")
	}
	if c := id.Certificate; c != nil {
		if len(c.Principals) > 0 {
			notes = append(notes, "for "+principals(c))
		}
		if !c.ValidBefore.IsZero() {
			notes = append(notes, "until "+c.ValidBefore.UTC().Format(time.DateTime)+" UTC")
		}
	}
	if len(notes) > 0 {
		parts = append(parts, "("+strings.Join(notes, "; ")+")")
	}
	if id.Problem != "" {
		parts = append(parts, "- "+id.Problem)
	}
	return strings.Join(parts, " ")
}
