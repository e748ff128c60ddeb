package auth

import (
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ptyctl/term"
)

// addToAgent gives the key of the successful login to the agent, if it came from
// a file and the configuration asks for it (ssh_config(5) AddKeysToAgent). A
// failure only gives a warning, because the login does not depend on it.
func (k *keyring) addToAgent(warn func(string)) {
	c := k.h.Cred
	if c.AddKeys == "" || c.AddKeys == "no" || !c.Agent.Any() || len(k.seen.offered) == 0 {
		return
	}
	key, ok := k.opened[k.seen.offered[len(k.seen.offered)-1]]
	if !ok {
		return
	}
	if c.AddKeys == "ask" {
		answer, err := k.person.Ask(term.Prompt{
			Kind: term.PromptChallenge,
			Text: "Add the key to the agent? (yes/no) ",
			Echo: true,
		})
		if err != nil || answer != "yes" {
			return
		}
	}
	// A new connection: the one for signing may be busy or closed.
	conn, err := k.dialAgent()
	if err == nil {
		err = agent.NewClient(conn).Add(key)
		_ = conn.Close()
	}
	if err != nil {
		warn("the key was not added to the agent: " + term.RootCause(err).Error())
	}
}

// parseKey parses a private key and remembers it for addToAgent. A nil passphrase
// means that there is no passphrase.
func (k *keyring) parseKey(pem, passphrase []byte) (ssh.Signer, error) {
	var raw any
	var err error
	if passphrase == nil {
		raw, err = ssh.ParseRawPrivateKey(pem)
	} else {
		raw, err = ssh.ParseRawPrivateKeyWithPassphrase(pem, passphrase)
	}
	if err != nil {
		return nil, err
	}
	s, err := ssh.NewSignerFromKey(raw)
	if err != nil {
		return nil, err
	}
	if k.opened == nil {
		k.opened = make(map[string]agent.AddedKey)
	}
	c := k.h.Cred
	k.opened[ssh.FingerprintSHA256(s.PublicKey())] = agent.AddedKey{
		PrivateKey:       raw,
		LifetimeSecs:     uint32(c.AddLifetime / time.Second),
		ConfirmBeforeUse: c.AddKeys == "confirm",
	}
	return s, nil
}
