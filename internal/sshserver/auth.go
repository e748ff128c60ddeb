package sshserver

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"golang.org/x/crypto/ssh"
)

// errDenied is the error of a failed attempt. Clients never see it.
var errDenied = errors.New("sshserver: permission denied")

// serverConfig returns the configuration of x/crypto/ssh for one handshake.
func (s *Server) serverConfig(ctx context.Context) *ssh.ServerConfig {
	first := s.callbacks(s.authMethods())
	config := &ssh.ServerConfig{
		Config:                      s.config.Transport,
		ServerVersion:               s.config.Version,
		NoClientAuth:                s.config.NoAuth,
		MaxAuthTries:                s.config.MaxAuthTries,
		PasswordCallback:            first.PasswordCallback,
		PublicKeyCallback:           first.PublicKeyCallback,
		KeyboardInteractiveCallback: first.KeyboardInteractiveCallback,
		BannerCallback:              func(ssh.ConnMetadata) string { return s.config.Banner },
		AuthLogCallback: func(meta ssh.ConnMetadata, method string, err error) {
			s.stats.attempt(meta.User(), method)
			if err == nil {
				wait(ctx, s.faults.Load().DelaySuccess)
			}
		},
	}
	for _, key := range s.config.HostKeys {
		config.AddHostKey(key)
	}
	return config
}

// authMethods returns the configured methods (RFC 4252 section 5), in the order of
// RequireAll.
func (s *Server) authMethods() []string {
	var methods []string
	if s.config.AuthorizedKeys != nil {
		methods = append(methods, "publickey")
	}
	if s.config.Passwords != nil {
		methods = append(methods, "password")
	}
	if s.config.KeyboardInteractive != nil {
		methods = append(methods, "keyboard-interactive")
	}
	return methods
}

// callbacks returns the callbacks for methods: all of them, or with RequireAll the first,
// which leads to the next.
func (s *Server) callbacks(methods []string) ssh.ServerAuthCallbacks {
	var success error
	if s.config.RequireAll && len(methods) > 1 {
		success = &ssh.PartialSuccessError{Next: s.callbacks(methods[1:])}
		methods = methods[:1]
	}
	var c ssh.ServerAuthCallbacks
	for _, method := range methods {
		switch method {
		case "publickey":
			c.PublicKeyCallback = func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
				return nil, decide(s.checkKey(key), success)
			}
		case "password":
			c.PasswordCallback = func(meta ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
				return nil, decide(s.checkPassword(meta.User(), password), success)
			}
		case "keyboard-interactive":
			c.KeyboardInteractiveCallback = func(
				meta ssh.ConnMetadata, challenge ssh.KeyboardInteractiveChallenge,
			) (*ssh.Permissions, error) {
				return nil, decide(s.askQuestions(meta.User(), challenge), success)
			}
		}
	}
	return c
}

// decide returns err, or success without one.
func decide(err, success error) error {
	if err != nil {
		return err
	}
	return success
}

// checkKey accepts the authorized keys, for any user.
func (s *Server) checkKey(offered ssh.PublicKey) error {
	s.stats.keyOffered(offered)
	for _, key := range s.config.AuthorizedKeys {
		if bytes.Equal(key.Marshal(), offered.Marshal()) {
			return nil
		}
	}
	return errDenied
}

// checkPassword accepts the password of the user.
func (s *Server) checkPassword(user string, password []byte) error {
	s.stats.add(func(n *Stats) { n.PasswordsSeen++ })
	want, known := s.config.Passwords[user]
	if known && subtle.ConstantTimeCompare([]byte(want), password) == 1 {
		return nil
	}
	return errDenied
}

// askQuestions runs the configured questions, and the fault of an extra round without
// questions.
func (s *Server) askQuestions(user string, challenge ssh.KeyboardInteractiveChallenge) error {
	if err := s.config.KeyboardInteractive(user, challenge); err != nil {
		return err
	}
	if s.faults.Load().ZeroQuestionRound {
		_, err := challenge("", "", nil, nil)
		return err
	}
	return nil
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
