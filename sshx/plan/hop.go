package plan

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/auth"
	"ptyctl/sshx/hostkeys"
	"ptyctl/sshx/reach"
	"ptyctl/term"
)

// A Hop is one host to log in to, with all its settings: the result of
// ssh_config, the call and the operator's limits.
type Hop struct {
	Index   int      // 0 for the first hop
	Vouched []string // see term.PlannedHop
	User    string
	reach.Endpoint

	Kex, Ciphers, MACs, hostKeyAlgos, pubkeyAlgos []string
	hostKeyFixed                                  bool // HostKeyAlgorithms sets the order: do not change it
	HostKeys                                      hostkeys.Options
	UpdateHostKeys                                bool         // known_hosts follows the server's announcements
	Rekey                                         uint64       // bytes; 0: the cipher's limit
	ForwardAgent                                  auth.AgentAt // the agent to forward
	Version                                       string       // VersionAddendum
	Within                                        Within       // ConnectTimeout

	Cred   auth.Credentials
	may    term.CredentialGrant // the credentials that the policy grants
	tried  *auth.Trial          // reports credentials that may would withhold; nil: they are withheld
	record hostkeys.Options     // the operator's recorded keys

	Answerer term.Answerer // answers questions of the login before a person is asked; nil: none
	Secret   string        // that the caller has named for the login; see term.Login

	Keepalive      time.Duration // <= 0: no keepalives
	KeepaliveCount int
}

// Within is ConnectTimeout of ssh_config(5): how long the way to the hop's host key may take. Without Limit only that of
// the Route counts.
type Within struct {
	Limit time.Duration
	Where string // it is set
}

// String returns the hop's name in messages: user@host:port.
func (h *Hop) String() string { return HopName(h.User, h.Host, h.Port) }

// HopName returns user@host:port. A target without SSH has no user.
func HopName(user, host string, port int) string {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	if user == "" {
		return address
	}
	return user + "@" + address
}

// Prompt adds the hop, user and host to a question.
func (h *Hop) Prompt(q term.Prompt) term.Prompt {
	q.Hop, q.User, q.Host = h.Index, h.User, h.Host
	if h.Port != 22 {
		q.Host = fmt.Sprintf("%s:%d", h.Host, h.Port)
	}
	return q
}

// Offer returns the host key algorithms to offer, those of recorded keys first.
func (h *Hop) Offer(keys *hostkeys.Verifier) []string {
	if h.hostKeyFixed {
		return h.hostKeyAlgos
	}
	return keys.Algorithms(h.hostKeyAlgos)
}

// proves reports whether anyone wants to know how the operator's record confirms
// the host's key: the policy, or a store of secrets.
func (h *Hop) proves() bool { return h.may.Ruled || h.Answerer != nil }

// Prove returns a function that reports how the operator's record confirms a
// host's key. It reads the record now, before a key is added to it. Without
// anyone who wants to know, each key counts as not recorded.
func (h *Hop) Prove(ip net.IP) (func(ssh.PublicKey) term.HostKeyProof, error) {
	if !h.proves() {
		return func(ssh.PublicKey) term.HostKeyProof { return term.HostKeyAccepted }, nil
	}
	record, err := hostkeys.NewVerifier(h.Host, h.Port, ip, h.record)
	if err != nil {
		return nil, err
	}
	return func(key ssh.PublicKey) term.HostKeyProof {
		// The policy is strict, so no question is asked.
		if err := record.Verify(context.Background(), key); err != nil {
			return term.HostKeyAccepted
		}
		if pin := strings.TrimRight(h.HostKeys.Fingerprint, "="); pin == "" || pin != record.Result().Fingerprint {
			return term.HostKeyRecorded
		}
		return term.HostKeyPinned
	}, nil
}

// Login returns the login at h as an Answerer sees it.
func (h *Hop) Login() term.Login {
	return term.Login{Hop: h.Index, User: h.User, Host: h.Host, Port: h.Port, Names: h.Vouched, Secret: h.Secret}
}

// Peer returns h as the far side of a connection with this proof of its host key.
func (h *Hop) Peer(proof term.HostKeyProof) term.Peer {
	if !h.proves() {
		proof = ""
	}
	return term.Peer{
		Protocol: "ssh", User: h.User, Host: h.Host, Port: h.Port, Names: slices.Clone(h.Vouched), HostKey: proof,
	}
}

// Account returns the account that a login at h uses.
func (h *Hop) Account() *auth.Account {
	return &auth.Account{
		Name: h.String(), User: h.User, Host: h.Host,
		Cred: h.Cred, PubkeyAlgos: h.pubkeyAlgos, May: h.may, Tried: h.tried,
	}
}
