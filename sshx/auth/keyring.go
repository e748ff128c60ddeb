package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/term"
)

// A keyring returns the keys to offer at one host, one at a time, in the order of
// ssh(1): certificates, the agent's keys that the configuration names, the
// agent's other keys, keys in files. Expensive steps (the agent, reading files, a
// passphrase) are done only when they are needed.
type keyring struct {
	ctx      context.Context
	h        *Account
	person   Asker
	seen     *Record
	withhold *withholding

	loaded bool
	keys   []ssh.Signer
	// The agent's keys that IdentitiesOnly leaves out, by name.
	excluded []string
	held     map[string]bool           // fingerprints of the agent's keys
	opened   map[string]agent.AddedKey // keys from files, by fingerprint, in the form for the agent
	ready    []ssh.Signer              // the last key again, with another algorithm
	agent    net.Conn                  // nil without an agent
	forget   func() bool               // detaches the agent's connection from ctx
}

// newKeyring returns the keys of one login; nothing is read before next.
func newKeyring(ctx context.Context, h *Account, person Asker, seen *Record, withhold *withholding) *keyring {
	return &keyring{ctx: ctx, h: h, person: person, seen: seen, withhold: withhold, held: make(map[string]bool)}
}

// close ends the connection to the agent.
func (k *keyring) close() {
	if k.agent != nil {
		k.forget()
		_ = k.agent.Close()
	}
}

// next returns the next key to offer, or nil after the last.
func (k *keyring) next() ssh.Signer {
	if !k.loaded {
		k.loaded = true
		k.load()
	}
	if len(k.ready) > 0 {
		s := k.ready[0]
		k.ready = k.ready[1:]
		return s
	}
	for len(k.keys) > 0 {
		s := k.keys[0]
		k.keys = k.keys[1:]
		if k.refusedBefore(s) {
			continue
		}
		// Algorithms first: a key that cannot sign here needs no permission.
		usable := k.restrict(s)
		if len(usable) == 0 {
			continue
		}
		if why := k.withhold.key(s.PublicKey(), k.held[ssh.FingerprintSHA256(plainKey(s.PublicKey()))]); why != "" {
			k.seen.note("key %s was not offered: %s", keyName(s.PublicKey()), why)
			continue
		}
		k.ready = usable[1:]
		return usable[0]
	}
	return nil
}

// refusedBefore reports whether the server has refused the key on an earlier connection of
// this login.
func (k *keyring) refusedBefore(s ssh.Signer) bool {
	return slices.Contains(k.h.Cred.Refused, ssh.FingerprintSHA256(s.PublicKey()))
}

// untried returns the names of the keys that are left.
func (k *keyring) untried() []string {
	var names []string
	for _, s := range k.keys {
		if !k.refusedBefore(s) {
			names = append(names, keyName(s.PublicKey()))
		}
	}
	return names
}

// keyName names a key in messages: by its fingerprint, as ssh-add -l does for a certificate
// too.
func keyName(key ssh.PublicKey) string {
	name := ssh.FingerprintSHA256(plainKey(key))
	if _, ok := key.(*ssh.Certificate); ok {
		name += " (certificate)"
	}
	return name
}

// restrict limits a signer to the allowed signature algorithms; it returns no
// signer if none is left. If ssh-rsa is allowed, it returns a second signer with
// ssh-rsa alone, because some devices announce rsa-sha2 and refuse it.
func (k *keyring) restrict(s ssh.Signer) []ssh.Signer {
	as, ok := s.(ssh.AlgorithmSigner)
	if !ok {
		return []ssh.Signer{s}
	}
	var usable []string
	for _, a := range signatureAlgorithms(s.PublicKey()) {
		if slices.Contains(k.h.PubkeyAlgos, a.name) {
			usable = append(usable, a.signature)
		}
	}
	var out []ssh.Signer
	add := func(algorithms []string) {
		if limited, err := ssh.NewSignerWithAlgorithms(as, algorithms); err == nil {
			out = append(out, limited)
		}
	}
	if len(usable) > 0 {
		add(usable)
	}
	if len(usable) > 1 && usable[len(usable)-1] == ssh.KeyAlgoRSA {
		add(usable[len(usable)-1:])
	}
	if len(out) > 0 {
		return out
	}
	k.seen.note(
		"key %s was not offered: PubkeyAcceptedAlgorithms allows none of its algorithms (%s)",
		keyName(s.PublicKey()), s.PublicKey().Type(),
	)
	return nil
}

// An algorithm is a public key algorithm, and the algorithm of its signatures, which is
// another one for a certificate.
type algorithm struct{ name, signature string }

// signatureAlgorithms returns the algorithms of a key, the best first (RFC 8332
// for RSA).
func signatureAlgorithms(key ssh.PublicKey) []algorithm {
	t := key.Type()
	c, certified := key.(*ssh.Certificate)
	switch {
	case certified && c.Key.Type() == ssh.KeyAlgoRSA:
		return []algorithm{
			{ssh.CertAlgoRSASHA512v01, ssh.KeyAlgoRSASHA512},
			{ssh.CertAlgoRSASHA256v01, ssh.KeyAlgoRSASHA256},
			{ssh.CertAlgoRSAv01, ssh.KeyAlgoRSA},
		}
	case certified:
		return []algorithm{{t, c.Key.Type()}}
	case t == ssh.KeyAlgoRSA:
		return []algorithm{
			{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA512},
			{ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA256},
			{ssh.KeyAlgoRSA, ssh.KeyAlgoRSA},
		}
	}
	return []algorithm{{t, t}}
}

// load collects the keys, without asking for passphrases where that is possible.
func (k *keyring) load() {
	c := k.h.Cred
	if c.offersPrivateKey() {
		k.keys = k.ofCall()
	}
	if c.Method == "private_key" {
		return
	}
	if c.offersSigners() {
		k.keys = append(k.keys, c.Signers...)
	}
	agentKeys := k.agentKeys()
	if c.Method == "agent" {
		k.keys = agentKeys
		return
	}
	// A key that is both in the agent and in a file is used from the agent: it
	// needs no passphrase there.
	var inFiles, named []ssh.Signer
	for _, path := range c.IdentityFiles {
		if k.seen.abort != nil {
			return
		}
		pub := publicHalf(path)
		same := func(s ssh.Signer) bool { return pub != nil && sameKey(s.PublicKey(), pub) }
		if i := slices.IndexFunc(agentKeys, same); i >= 0 {
			named = append(named, agentKeys[i])
			agentKeys = slices.Delete(agentKeys, i, i+1)
			continue
		}
		if s := k.file(path, pub); s != nil {
			inFiles = append(inFiles, s)
		}
	}
	certs := k.certified(slices.Concat(named, inFiles, agentKeys))
	agentKeys = slices.DeleteFunc(agentKeys, func(s ssh.Signer) bool {
		return slices.ContainsFunc(certs, func(c ssh.Signer) bool { return sameKey(s.PublicKey(), c.PublicKey()) })
	})
	k.keys = slices.Concat(k.keys, certs, named)
	if c.IdentitiesOnly {
		for _, s := range agentKeys {
			k.excluded = append(k.excluded, keyName(s.PublicKey()))
		}
	} else {
		k.keys = append(k.keys, agentKeys...)
	}
	k.keys = append(k.keys, inFiles...)
}

// ofCall returns the key of the call, if it can be read.
func (k *keyring) ofCall() []ssh.Signer {
	if s := k.h.Cred.Signer; s != nil {
		return []ssh.Signer{s}
	}
	pem := []byte(k.h.Cred.PrivateKey.Reveal())
	if _, err := ssh.ParsePrivateKey(pem); errors.As(err, new(*ssh.PassphraseMissingError)) {
		if s := k.sealed(callersKey, pem, err, nil); s != nil {
			return []ssh.Signer{s}
		}
	}
	return nil
}

// agentKeys returns the agent's keys. It connects for every login, because a kept
// connection would end with the agent.
func (k *keyring) agentKeys() []ssh.Signer {
	c := k.h.Cred
	if !c.Agent.Any() {
		if c.Method == "agent" {
			k.seen.note("there is no agent: SSH_AUTH_SOCK is not set")
		}
		return nil
	}
	conn, err := k.dialAgent()
	if errors.Is(err, ErrNoAgent) {
		if c.Method == "agent" {
			k.seen.note("there is no agent: %v", err)
		}
		return nil
	}
	if err != nil {
		k.seen.note("%s cannot be reached: %v", c.Agent, term.RootCause(err))
		return nil
	}
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		_ = conn.Close()
		k.seen.note("%s lists no keys: %v", c.Agent, err)
		return nil
	}
	for i, s := range signers {
		signers[i] = k.hold(s)
		k.held[ssh.FingerprintSHA256(plainKey(s.PublicKey()))] = true
	}
	_ = conn.SetDeadline(time.Time{}) // signing may wait for a touch, or for a person's consent
	k.agent, k.forget = conn, context.AfterFunc(k.ctx, func() { _ = conn.Close() })
	return signers
}

// A heldKey is a key of the agent under its own type, so that a certificate is known as one:
// the client of x/crypto/ssh makes all of them *agent.Key.
type heldKey struct {
	ssh.AlgorithmSigner
	key  ssh.PublicKey
	turn func() (done func(), err error)
}

// PublicKey implements ssh.Signer.
func (h heldKey) PublicKey() ssh.PublicKey { return h.key }

// Sign implements ssh.Signer.
func (h heldKey) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return h.SignWithAlgorithm(rand, data, "")
}

// SignWithAlgorithm implements ssh.AlgorithmSigner, when the agent is free.
func (h heldKey) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	done, err := h.turn()
	if err != nil {
		return nil, err
	}
	defer done()
	if algorithm == "" {
		return h.AlgorithmSigner.Sign(rand, data)
	}
	return h.AlgorithmSigner.SignWithAlgorithm(rand, data, algorithm)
}

// hold returns a signer of the agent as a heldKey, if its type is known.
func (k *keyring) hold(s ssh.Signer) ssh.Signer {
	as, ok := s.(ssh.AlgorithmSigner)
	key, err := ssh.ParsePublicKey(s.PublicKey().Marshal())
	if !ok || err != nil {
		return s
	}
	return heldKey{as, key, k.turn}
}

// agentTurns has a token for each agent of another process that signs, by its socket. An agent may ask a person
// for each signature, or for a touch: it is asked by one login of this process at a time.
var agentTurns sync.Map // of chan struct{}

// turn waits until the agent is free. The time of the login stops meanwhile. An agent in this process sees to its own
// order.
func (k *keyring) turn() (done func(), err error) {
	at := k.h.Cred.Agent
	if at.Agent != nil {
		return func() {}, nil
	}
	turns, _ := agentTurns.LoadOrStore(at.Socket, make(chan struct{}, 1))
	free := turns.(chan struct{})
	done = func() { <-free }
	select {
	case free <- struct{}{}:
		return done, nil
	default:
	}
	if p, ok := k.person.(interface{ Pause() (resume func()) }); ok {
		defer p.Pause()()
	}
	select {
	case free <- struct{}{}:
		return done, nil
	case <-k.ctx.Done():
		return nil, context.Cause(k.ctx)
	}
}

// agentTimeout limits each exchange with the agent, except signing.
const agentTimeout = 5 * time.Second

// dialAgent connects to the agent, and sets the deadline of the first exchange.
func (k *keyring) dialAgent() (net.Conn, error) {
	conn, err := k.h.Cred.Agent.Dial(k.ctx)
	if err == nil {
		_ = conn.SetDeadline(time.Now().Add(agentTimeout))
	}
	return conn, err
}

// file returns a signer for an identity file, or nil if the file is missing or
// unusable.
func (k *keyring) file(path string, pub ssh.PublicKey) ssh.Signer {
	pem, info, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // like ssh(1): the default identities need not exist
	}
	if err != nil {
		k.seen.unread("%s cannot be read: %v", path, err)
		return nil
	}
	if _, _, _, _, err := ssh.ParseAuthorizedKey(pem); err == nil {
		k.seen.unread("%s is a public key, and the agent does not have the private one", path)
		return nil
	}
	if why := exposed(info); why != "" {
		k.seen.unread("%s was ignored: %s", path, why)
		return nil
	}
	s, err := k.parseKey(pem, nil)
	if err == nil {
		clear(pem)
		return s
	}
	if errors.As(err, new(*ssh.PassphraseMissingError)) {
		return k.sealed(path, pem, err, pub)
	}
	k.seen.unread("%s was ignored: %s", path, unreadableKey(pem, err))
	return nil
}

// sealed returns a signer for an encrypted key, and overwrites pem after reading
// it. If the public half is known, the passphrase is asked only after the server
// has accepted the key.
func (k *keyring) sealed(name string, pem []byte, err error, pub ssh.PublicKey) ssh.Signer {
	var missing *ssh.PassphraseMissingError
	if errors.As(err, &missing) && missing.PublicKey != nil {
		pub = missing.PublicKey
	}
	s := &sealedKey{pub: pub, open: sync.OnceValues(func() (ssh.AlgorithmSigner, error) {
		opened, err := k.unseal(name, pem)
		clear(pem)
		if err != nil {
			k.seen.note("%s was not used: %v", name, err)
		}
		return opened, err
	})}
	if pub != nil {
		return s
	}
	opened, err := s.open()
	if err != nil {
		return nil
	}
	return opened
}

// unseal decrypts a key with the passphrase of the call, or asks for one, at most
// three times.
func (k *keyring) unseal(name string, pem []byte) (ssh.AlgorithmSigner, error) {
	if pass := k.h.Cred.Passphrase; pass != "" {
		text := []byte(pass.Reveal())
		defer clear(text)
		return decrypt(k.parseKey, name, pem, text)
	}
	var last error
	for range 3 {
		answer, err := k.person.Ask(term.Prompt{
			Kind: term.PromptPassphrase,
			Text: fmt.Sprintf("Enter passphrase for key '%s': ", name),
		})
		if errors.Is(err, ErrCannotAsk) {
			if name == callersKey {
				k.seen.Lacked = term.FieldPassphrase
			}
			return nil, fmt.Errorf("%s is encrypted, and its passphrase was not given; pass it", name)
		}
		if err != nil {
			k.seen.stop(err)
			return nil, err
		}
		text := []byte(answer)
		s, err := decrypt(k.parseKey, name, pem, text)
		clear(text)
		if err == nil {
			return s, nil
		}
		last = err
	}
	return nil, last
}

// A sealedKey decrypts itself at the first signature.
type sealedKey struct {
	pub  ssh.PublicKey
	open func() (ssh.AlgorithmSigner, error) // decrypts once; later calls return the same result
}

// PublicKey implements ssh.Signer.
func (s *sealedKey) PublicKey() ssh.PublicKey { return s.pub }

// sameKey reports whether two keys have the same wire form.
func sameKey(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }
