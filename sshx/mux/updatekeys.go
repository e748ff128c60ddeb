package mux

import (
	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/hostkeys"
)

// requests answers the server's global requests. One of them has an effect: the
// announcement of all host keys of the server (OpenSSH PROTOCOL, section 2.5), so
// that known_hosts can follow a change of keys (ssh_config(5) UpdateHostKeys). It
// comes once, directly after the login; every other request is refused.
func (k *Link) requests(reqs <-chan *ssh.Request, keys *hostkeys.Verifier) {
	for r := range reqs {
		if r.Type == hostkeys.HostKeysRequest && keys != nil {
			v, payload := keys, r.Payload
			keys = nil
			k.wg.Go(func() { k.updateHostKeys(v, payload) })
		}
		if r.WantReply {
			_ = r.Reply(false, nil)
		}
	}
}

// updateHostKeys records the keys that the server announces and proves to have,
// and removes those it no longer has. After any error the files stay unchanged,
// because the connection does not depend on them.
func (k *Link) updateHostKeys(v *hostkeys.Verifier, payload []byte) {
	announced, err := hostkeys.ParseHostKeys(payload)
	if err != nil {
		return
	}
	// Most servers announce known keys, so the proof is requested only for a
	// change.
	plan, err := v.PlanUpdate(announced)
	if err != nil || len(plan.New) == 0 && len(plan.Obsolete) == 0 {
		return
	}
	var proven []ssh.PublicKey
	if len(plan.New) > 0 {
		ok, answer, err := k.Conn.SendRequest(hostkeys.HostKeysProveRequest, true, hostkeys.ProveRequest(plan.New))
		if err != nil || !ok {
			return
		}
		if proven, err = hostkeys.VerifyProof(answer, k.Conn.SessionID(), plan.New, negotiated(k.Conn).HostKey); err != nil {
			return
		}
	}
	_, _ = v.ApplyUpdate(announced, proven)
}
