package sshx

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/hostkeys"
	"ptyctl/term"
)

// A hop is one host to log in to, with everything that decides how: the outcome of ssh_config, the caller's
// wishes and the operator's floor.
type hop struct {
	index   int      // 0: the first on the way
	name    string   // as it was asked for
	vouched []string // see term.PlannedHop
	host    string   // what to connect to
	port    int
	user    string

	family        string // "tcp", "tcp4", "tcp6"
	bindAddress   string
	bindInterface string
	proxy         *url.URL // SOCKS5 or HTTP; nil: none
	attempts      int
	tcpKeep       bool
	addrs         []netip.Addr                                                         // what host resolves to, as it was judged; nil: it is looked up when it is dialed
	lookUpErr     error                                                                // why it could not be looked up
	proxyAddrs    []netip.Addr                                                         // the same of the proxy
	dial          func(ctx context.Context, network, address string) (net.Conn, error) // nil: TCP

	kex, ciphers, macs, hostKeyAlgos, pubkeyAlgos []string
	hostKeyFixed                                  bool // HostKeyAlgorithms was given in full: do not reorder
	hostKeys                                      hostkeys.Options
	updateHostKeys                                bool   // known_hosts follows what the server announces
	rekey                                         uint64 // bytes; 0: the cipher's limit
	forwardAgent                                  string // socket of the agent to forward; empty: none
	version                                       string // VersionAddendum

	cred   credentials
	may    term.CredentialGrant // which of them
	tried  *trial               // what is used although may withholds it; nil: nothing is
	record hostkeys.Options     // what the operator has on record

	keepalive      time.Duration // <= 0: none
	keepaliveCount int
}

// credentials are what a hop may use to prove who we are.
type credentials struct {
	method     string // the caller's auth.method: "", "auto", "password", "private_key", "agent"
	password   term.Secret
	privateKey term.Secret
	passphrase term.Secret

	preferred      []string // authentication methods, most preferred first
	identityFiles  []string
	certificates   []string
	identitiesOnly bool
	agentSocket    string        // empty: no agent
	prompts        int           // how often a password may be asked
	batch          bool          // never ask
	refused        []string      // fingerprints of keys not to be offered again
	notes          []string      // what is wrong with them, for a message
	signer         ssh.Signer    // privateKey, if it could be read without asking
	addKeys        string        // AddKeysToAgent: no, yes, ask or confirm
	addLifetime    time.Duration // in the agent; 0: for ever
}

// String is the hop as messages name it.
func (h *hop) String() string {
	if h.user == "" { // nobody logs in there
		return h.address()
	}
	return h.user + "@" + h.address()
}

func (h *hop) address() string { return net.JoinHostPort(h.host, strconv.Itoa(h.port)) }

// prompt fills in who is asked for.
func (h *hop) prompt(q term.Prompt) term.Prompt {
	q.Hop, q.User, q.Host = h.index, h.user, h.host
	if h.port != 22 {
		q.Host = fmt.Sprintf("%s:%d", h.host, h.port)
	}
	return q
}

// offer returns the host key algorithms to offer, those of known keys first.
func (h *hop) offer(keys *hostkeys.Verifier) []string {
	if h.hostKeyFixed {
		return h.hostKeyAlgos
	}
	return keys.Algorithms(h.hostKeyAlgos)
}

// agentForwarding returns what the server may use of our agent, or nil.
func (h *hop) agentForwarding() *agentForwarding {
	if h.forwardAgent == "" {
		return nil
	}
	return &agentForwarding{socket: h.forwardAgent}
}
