package auth_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// ruled is a grant for one hop that allows only the uses that may adds.
func ruled(may func(g *term.CredentialGrant)) term.CredentialGrant {
	never := term.CredentialCondition{Never: true, Rule: "the rule"}
	g := term.CredentialGrant{
		Ruled:      true,
		Password:   never,
		Agent:      never,
		OtherKeys:  never,
		Keys:       make(map[string]term.CredentialCondition),
		KeepRecord: true,
	}
	if may != nil {
		may(&g)
	}
	return g
}

// on returns the condition for a host with this proof of its key.
func on(proof term.HostKeyProof) term.CredentialCondition {
	return term.CredentialCondition{HostKey: proof, Rule: "the rule"}
}

// TestWithheld: a credential that the operator's rules do not allow must never
// reach the host, from any source.
func TestWithheld(t *testing.T) {
	k1, s1 := sshtest.RawKey(t)
	k2, s2 := sshtest.RawKey(t)
	inFile, pem := sshtest.NewKey(t)
	first, second, third := ssh.FingerprintSHA256(
		s1.PublicKey(),
	), ssh.FingerprintSHA256(
		s2.PublicKey(),
	), ssh.FingerprintSHA256(
		inFile.PublicKey(),
	)
	const password = "pass-1138"
	for name, tt := range map[string]struct {
		may      func(g *term.CredentialGrant)
		target   term.Auth
		offered  []string
		password bool // the password is sent
		kind     term.Kind
	}{
		"nothing":             {nil, term.Auth{Password: password}, nil, false, term.PolicyDenied},
		"only the password":   {func(g *term.CredentialGrant) { g.Password = on("") }, term.Auth{Password: password}, nil, true, ""},
		"password, recorded":  {func(g *term.CredentialGrant) { g.Password = on("recorded") }, term.Auth{Password: password}, nil, true, ""},
		"password, pinned":    {func(g *term.CredentialGrant) { g.Password = on("pinned") }, term.Auth{Password: password}, nil, false, term.PolicyDenied},
		"method password":     {nil, term.Auth{Password: password, Method: "password"}, nil, false, term.PolicyDenied},
		"the agent":           {func(g *term.CredentialGrant) { g.Agent = on("recorded") }, term.Auth{}, []string{first, second}, false, term.AuthFailed},
		"one key of it":       {func(g *term.CredentialGrant) { g.Keys[second] = on("recorded") }, term.Auth{}, []string{second}, false, term.AuthFailed},
		"all but one":         {func(g *term.CredentialGrant) { g.Agent, g.Keys[first] = on(""), g.OtherKeys }, term.Auth{}, []string{second}, false, term.AuthFailed},
		"the key in the file": {func(g *term.CredentialGrant) { g.Keys[third] = on("recorded") }, term.Auth{}, []string{third}, false, term.AuthFailed},
		"a key of the call":   {func(g *term.CredentialGrant) { g.Agent = on("") }, term.Auth{Method: "private_key", PrivateKeyPEM: term.Secret(pem)}, nil, false, term.PolicyDenied},
		"that key by name":    {func(g *term.CredentialGrant) { g.Keys[third] = on("") }, term.Auth{Method: "private_key", PrivateKeyPEM: term.Secret(pem)}, []string{third}, false, term.AuthFailed},
	} {
		t.Run(name, func(t *testing.T) {
			l := sshtest.New(t)
			_, unrecorded := sshtest.RawKey(t)
			srv := l.Server(
				sshtest.Addr1,
				sshserver.Config{
					AuthorizedKeys: []ssh.PublicKey{unrecorded.PublicKey()},
					Passwords:      map[string]string{"u": password},
				},
			)
			l.Opts.IdentityAgent = serveAgent(t, k1, k2)
			l.Config("IdentityFile " + l.Write("id", pem) + "\n")
			target := sshtest.To(sshtest.Host1, "")
			target.Auth = tt.target
			err := l.Judged(target, &sshtest.Judge{Grant: term.Grant{Credentials: []term.CredentialGrant{ruled(tt.may)}}})
			if tt.kind != "" && term.KindOf(err) != tt.kind || tt.kind == "" && err != nil {
				t.Errorf("the login ends in %v, want %s", err, tt.kind)
			}
			if tt.kind == term.PolicyDenied && !strings.Contains(err.Error(), "the rule") {
				t.Errorf("%v does not name the rule", err)
			}
			s := srv.Stats()
			if got := slices.Compact(s.KeysOffered); !slices.Equal(got, tt.offered) {
				t.Errorf("the host was offered %v, want %v", got, tt.offered)
			}
			if (s.PasswordsSeen > 0) != tt.password {
				t.Errorf("the host has seen %d passwords", s.PasswordsSeen)
			}
		})
	}
}

// TestWithheldOnTrial: rules on trial must withhold nothing, and record as usual.
// Each credential that they would withhold must be reported once, when it is
// used, and no other.
func TestWithheldOnTrial(t *testing.T) {
	k1, s1 := sshtest.RawKey(t)
	k2, s2 := sshtest.RawKey(t)
	const password = "pass-1138"
	l := sshtest.New(t)
	_, unrecorded := sshtest.RawKey(t)
	srv := l.Unrecorded(
		sshtest.Addr1,
		sshserver.Config{
			AuthorizedKeys: []ssh.PublicKey{unrecorded.PublicKey()},
			Passwords:      map[string]string{"u": password},
		},
	)
	l.Opts.IdentityAgent = serveAgent(t, k1, k2)
	first, second := ssh.FingerprintSHA256(s1.PublicKey()), ssh.FingerprintSHA256(s2.PublicKey())
	grant := ruled(func(g *term.CredentialGrant) {
		g.Agent = on("")
		g.Keys[second] = term.CredentialCondition{Never: true, Why: "so says the operator", Rule: "the rule"}
	})
	var told []string
	report := func(credential string, why error) {
		e, ok := errors.AsType[*term.Error](why)
		if !ok || e.Kind != term.PolicyDenied || term.FactOf[term.Denial](e).Rule != "the rule" {
			t.Errorf("%s is reported with %v, want a denial by the rule", credential, why)
		}
		told = append(told, credential+": "+why.Error())
	}
	target := sshtest.To(sshtest.Host1, password)
	target.SSH.HostKeyPolicy = "accept_new"
	onTrial := term.Grant{Credentials: []term.CredentialGrant{grant}, Report: report}
	if err := l.Judged(target, &sshtest.Judge{Grant: onTrial}); err != nil {
		t.Fatalf("rules that are tried out end the login: %v", err)
	}
	if got := slices.Compact(srv.Stats().KeysOffered); !slices.Equal(got, []string{first, second}) {
		t.Errorf("the host was offered %v, want both keys", got)
	}
	if len(told) != 2 || !strings.Contains(told[0], "key "+second+" at u@") ||
		!strings.Contains(told[0], "so says the operator (the rule)") ||
		!strings.Contains(told[1], "a password") {
		t.Errorf("told of %q, want the second key and the password, once each", told)
	}
	if text, err := os.ReadFile(l.Path(".ssh/known_hosts")); err != nil || len(text) == 0 {
		t.Errorf("the record is %q, %v; want the host's key, as without rules", text, err)
	}
}

// TestWithheldWithoutRecord: a host key required on record must have been there
// before. A second attempt, another user first, or a trust store of the caller
// must not change that.
func TestWithheldWithoutRecord(t *testing.T) {
	const password = "pass-1138"
	for name, options := range map[string]term.SSHOptions{
		"accept_new": {HostKeyPolicy: "accept_new"},
		"own store":  {HostKeyPolicy: "strict", KnownHostsPath: "%k"},
		"option":     {ExtraArgs: []string{"-o", "UserKnownHostsFile=%k"}},
		"-o policy":  {ExtraArgs: []string{"-o", "StrictHostKeyChecking=accept-new"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := sshtest.New(t)
			srv := l.Unrecorded(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": password}})
			own := l.Write("own_known_hosts", sshtest.Host1+" "+string(ssh.MarshalAuthorizedKey(srv.HostKey())))
			options.KnownHostsPath = strings.ReplaceAll(options.KnownHostsPath, "%k", own)
			for i, a := range options.ExtraArgs {
				options.ExtraArgs[i] = strings.ReplaceAll(a, "%k", own)
			}
			target := sshtest.To(sshtest.Host1, password)
			target.SSH = options
			for range 2 {
				grant := ruled(func(g *term.CredentialGrant) { g.Password = on("recorded") })
				if err := l.Judged(target,
					&sshtest.Judge{Grant: term.Grant{Credentials: []term.CredentialGrant{grant}}}); err == nil {
					t.Error("logged in at a host that the operator has not on record")
				}
			}
			if n := srv.Stats().PasswordsSeen; n != 0 {
				t.Errorf("the host has seen %d passwords", n)
			}
			if text, err := os.ReadFile(l.Path(".ssh/known_hosts")); err != nil || len(text) != 0 {
				t.Errorf("the record is now %q, %v", text, err)
			}
		})
	}
}

// TestWithheldPinned: with the fingerprint, a recorded host may receive a
// credential that requires both.
func TestWithheldPinned(t *testing.T) {
	l := sshtest.New(t)
	srv := l.Server(sshtest.Addr1, sshserver.Config{Passwords: map[string]string{"u": "pass-1138"}})
	target := sshtest.To(sshtest.Host1, "pass-1138")
	target.SSH.HostKeyFingerprint = ssh.FingerprintSHA256(srv.HostKey())
	grant := ruled(func(g *term.CredentialGrant) { g.Password = on("pinned") })
	if err := l.Judged(target, &sshtest.Judge{Grant: term.Grant{Credentials: []term.CredentialGrant{grant}}}); err != nil {
		t.Error(err)
	}
}

// TestWithheldAtJump: each hop must have its own rules, and an agent that must
// not be used at a host must not be forwarded to it.
func TestWithheldAtJump(t *testing.T) {
	k, s := sshtest.RawKey(t)
	l := sshtest.New(t)
	jump := l.Server(sshtest.Addr1, sshserver.Config{AuthorizedKeys: []ssh.PublicKey{s.PublicKey()}, AllowForward: true})
	l.Server(sshtest.Addr2, sshserver.Config{})
	l.Opts.IdentityAgent, l.Opts.AllowAgentForwarding = serveAgent(t, k), true
	l.Config("Host 192.0.2.2\n ProxyJump u@192.0.2.1\n ForwardAgent yes\n")
	at := func(jump, target func(g *term.CredentialGrant)) *sshtest.Judge {
		return &sshtest.Judge{Grant: term.Grant{Credentials: []term.CredentialGrant{ruled(jump), ruled(target)}}}
	}
	agents := func(g *term.CredentialGrant) { g.Agent = on("recorded") }
	if err := l.Judged(sshtest.To("192.0.2.2", ""), at(nil, agents)); term.KindOf(err) != term.PolicyDenied ||
		len(jump.Stats().KeysOffered) != 0 {
		t.Errorf("the jump host was offered %v; %v", jump.Stats().KeysOffered, err)
	}
	tr, err := sshx.NewNetwork(l.Opts).OpenShell(t.Context(), sshtest.To("192.0.2.2", ""), nil, at(agents, nil).Approve)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if warnings := strings.Join(tr.(term.Describer).Describe().Warnings, "\n"); !strings.Contains(
		warnings,
		"the agent is not forwarded: it may not be used at this host (the rule)",
	) {
		t.Errorf("warnings %q do not say that the agent is not forwarded", warnings)
	}
}
