package sshx_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/term"
)

// TestFloor checks every limit on a caller, from every source: it must be refused
// by name, before anything is dialled, run or written.
func TestFloor(t *testing.T) {
	for _, tc := range []struct {
		option string // a line of ssh_config(5); %m is a marker file that must not appear, %o a path outside
		kind   term.Kind
		names  string                                // in the error
		first  func(o *sshx.Options, t *term.Target) // the preparation for the case
	}{
		{option: "ProxyCommand touch %m", kind: term.Unsupported, names: "ProxyCommand"},
		{option: `Match exec "touch %m"`, names: "exec"},
		{option: "KnownHostsCommand /bin/touch %m", kind: term.Unsupported, names: "KnownHostsCommand"},
		{option: "LocalCommand touch %m", kind: term.PolicyDenied, names: "LocalCommand"},
		{option: "RemoteCommand touch %m", kind: term.PolicyDenied, names: "RemoteCommand"},
		{option: "RemoteCommand none", kind: term.PolicyDenied, names: "RemoteCommand"},
		{option: "PKCS11Provider %o", kind: term.PolicyDenied, names: "PKCS11Provider"},
		{option: "SecurityKeyProvider %o", kind: term.PolicyDenied, names: "SecurityKeyProvider"},
		{option: "SetEnv PROMPT_COMMAND=touch%m", kind: term.PolicyDenied, names: "PROMPT_COMMAND"},
		{option: "SetEnv LANG=C ENV=%o", kind: term.PolicyDenied, names: "ENV"},
		{option: "SetEnv LC_ALL=C"},
		{option: "SendEnv L*", kind: term.PolicyDenied, names: "L*"},
		{option: "SendEnv LC_* LANG"},
		{option: "StrictHostKeyChecking no", kind: term.PolicyDenied, names: string(term.SettingHostKeyFloor)},
		{option: "StrictHostKeyChecking off", kind: term.PolicyDenied, names: string(term.SettingHostKeyFloor)},
		{option: "StrictHostKeyChecking accept-new", kind: term.PolicyDenied, names: string(term.SettingHostKeyFloor), first: func(o *sshx.Options, _ *term.Target) { o.HostKeyFloor = "strict" }},
		{option: "HostKeyAlias other", kind: term.PolicyDenied, names: "HostKeyAlias"},
		{option: "RevokedHostKeys /dev/null", kind: term.PolicyDenied, names: "RevokedHostKeys"},
		{option: "NoHostAuthenticationForLocalhost yes", kind: term.PolicyDenied, names: "NoHostAuthenticationForLocalhost"},
		{option: "UserKnownHostsFile %o", kind: term.PolicyDenied, names: string(term.SettingCallerPaths)},
		{option: "GlobalKnownHostsFile %o", kind: term.PolicyDenied, names: string(term.SettingCallerPaths)},
		{option: "IdentityFile %o", kind: term.PolicyDenied, names: string(term.SettingCallerPaths)},
		{option: "CertificateFile %o", kind: term.PolicyDenied, names: string(term.SettingCallerPaths)},
		{option: "IdentityAgent %o", kind: term.PolicyDenied, names: string(term.SettingCallerPaths)},
		{option: "ForwardAgent %o", kind: term.PolicyDenied, names: string(term.SettingCallerPaths), first: func(o *sshx.Options, _ *term.Target) { o.AllowAgentForwarding = true }},
		{option: "ForwardAgent yes", kind: term.PolicyDenied, names: string(term.SettingAgentForwarding)},
		{option: "SendEnv PTYCTL_*", kind: term.PolicyDenied, names: "PTYCTL_*"},
		{option: "ProxyCommand ssh -W %%h:%%p -o HostKeyAlias=x 192.0.2.2", kind: term.PolicyDenied, names: "HostKeyAlias"},
		{option: "ProxyCommand ssh -W %%h:%%p -o StrictHostKeyChecking=no 192.0.2.2", kind: term.PolicyDenied, names: string(term.SettingHostKeyFloor)},
	} {
		for _, source := range []string{"extra_args", "config_path", "-F", "Include"} {
			if source == "extra_args" && strings.HasPrefix(tc.option, "Match") {
				continue // not a line of its own
			}
			t.Run(strings.Fields(tc.option)[0]+" from "+source, func(t *testing.T) {
				t.Setenv("PTYCTL_SECRET", "hunter2-1138")
				l := newLab(t)
				srv := l.server(addr1, sshserver.Config{AcceptEnv: []string{"*"}})
				l.opts.AllowExecDirectives = true // for the operator's files only
				l.opts.CallerPaths = []string{l.path("allowed")}
				marker := l.path("marker")
				const only = "Host 192.0.2.1\n"
				option := strings.NewReplacer("%m", marker, "%o", l.write("outside", ""), "%%", "%").Replace(tc.option)
				target := to(host1, "")
				if tc.first != nil {
					tc.first(&l.opts, &target)
				}
				switch source {
				case "extra_args":
					target.SSH.ExtraArgs = []string{"-o", option}
				case "config_path":
					target.SSH.ConfigPath = l.write("allowed/config", only+option+"\n")
				case "-F":
					target.SSH.ExtraArgs = []string{"-F", l.write("allowed/config", only+option+"\n")}
				case "Include":
					target.SSH.ConfigPath = l.write("allowed/config", "Include "+l.write("allowed/included", only+option+"\n")+"\n")
				}
				if tc.kind == "" { // at most a warning; the connection must succeed
					c := l.client(target, nil)
					sh, err := c.Shell(t.Context(), term.PTY{})
					if err != nil {
						t.Fatal(err)
					}
					warnings := strings.Join(sh.Describe().Warnings, "\n")
					if !strings.Contains(warnings, tc.names) || strings.Contains(warnings, "hunter2-1138") {
						t.Errorf("warnings %q lack %q", warnings, tc.names)
					}
				} else {
					e := l.fails(target, noPrompter(t), tc.kind)
					if !strings.Contains(e.Msg, tc.names) && string(term.FactOf[term.Denial](e).Setting) != tc.names {
						t.Errorf("%q, %+v: names no %s", e.Msg, e.Facts, tc.names)
					}
					if srv.Stats().Accepted != 0 || len(l.dials) != 0 {
						t.Error("something was dialled")
					}
				}
				if _, err := os.Stat(marker); err == nil {
					t.Error("the program ran")
				}
			})
		}
	}
}

// TestFloorOfArguments checks the arguments of the call with a field of their
// own.
func TestFloorOfArguments(t *testing.T) {
	outside := t.TempDir() + "/outside"
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		set   func(*lab, *term.SSHOptions)
		kind  term.Kind
		field term.Field
	}{
		"policy":                 {func(_ *lab, o *term.SSHOptions) { o.HostKeyPolicy = "disabled" }, term.PolicyDenied, term.FieldHostKeyPolicy},
		"no such policy":         {func(_ *lab, o *term.SSHOptions) { o.HostKeyPolicy = "lax" }, term.InvalidArgument, term.FieldHostKeyPolicy},
		"known_hosts_path":       {func(_ *lab, o *term.SSHOptions) { o.KnownHostsPath = outside }, term.PolicyDenied, term.FieldKnownHosts},
		"known_hosts_path, link": {func(l *lab, o *term.SSHOptions) { o.KnownHostsPath = l.link("allowed/link", outside) }, term.PolicyDenied, term.FieldKnownHosts},
		"known_hosts_path, link to nowhere": {func(l *lab, o *term.SSHOptions) {
			o.KnownHostsPath = l.link("allowed/link", outside+"2")
		}, term.PolicyDenied, term.FieldKnownHosts},
		"known_hosts_path, dots": {func(l *lab, o *term.SSHOptions) { o.KnownHostsPath = l.path("allowed") + "/../.ssh/known_hosts" }, term.PolicyDenied, term.FieldKnownHosts},
		"config_path":            {func(_ *lab, o *term.SSHOptions) { o.ConfigPath = outside }, term.PolicyDenied, term.FieldConfigPath},
		"-F":                     {func(_ *lab, o *term.SSHOptions) { o.ExtraArgs = []string{"-F", outside} }, term.PolicyDenied, term.FieldConfigPath},
		"Include":                {func(l *lab, o *term.SSHOptions) { o.ConfigPath = l.write("allowed/c", "Include "+outside+"\n") }, term.PolicyDenied, term.FieldConfigPath},
		"-i":                     {func(_ *lab, o *term.SSHOptions) { o.ExtraArgs = []string{"-i", outside} }, term.PolicyDenied, term.FieldSSH},
		"-A":                     {func(_ *lab, o *term.SSHOptions) { o.ExtraArgs = []string{"-A"} }, term.PolicyDenied, term.FieldExtraArgs},
		"-L":                     {func(_ *lab, o *term.SSHOptions) { o.ExtraArgs = []string{"-L", "1:a:2"} }, term.Unsupported, term.FieldExtraArgs},
		"proxy_url":              {func(_ *lab, o *term.SSHOptions) { o.ProxyURL = "ftp://u:hunter2-1138@h" }, term.InvalidArgument, term.FieldProxyURL},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.write("allowed/x", "")
			l.opts.CallerPaths = []string{l.path("allowed")}
			srv := l.server(addr1, sshserver.Config{})
			target := to(host1, "")
			tc.set(l, &target.SSH)
			e := l.fails(target, noPrompter(t), tc.kind)
			if term.FactOf[term.ArgumentFault](e).Field != tc.field || strings.Contains(e.Msg, "hunter2-1138") {
				t.Errorf("%v, details %+v", e, e.Facts)
			}
			if srv.Stats().Accepted != 0 {
				t.Error("something was dialled")
			}
		})
	}
}

// TestAllowedPaths checks that paths within the allowed folders are used, with a
// warning if they decide about trust.
func TestAllowedPaths(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		l.opts.CallerPaths = []string{l.path("allowed")}
		l.unrecorded(addr1, sshserver.Config{})
		target := to(host1, "")
		target.SSH = term.SSHOptions{KnownHostsPath: l.path("allowed/known_hosts"), HostKeyPolicy: "accept_new"}
		l.write("allowed/x", "")
		sh, err := l.client(target, nil).Shell(t.Context(), term.PTY{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(
			sh.Describe().Warnings,
			func(w string) bool { return strings.Contains(w, "as well as with the operator's known_hosts") },
		) {
			t.Errorf("warnings %q", sh.Describe().Warnings)
		}
		if text, err := os.ReadFile(l.path("allowed/known_hosts")); err != nil || len(text) == 0 {
			t.Errorf("not recorded there: %v", err)
		}
	})
}

// TestOperatorIsRaisedToTheFloor checks that the operator's own configuration is
// raised, not refused.
func TestOperatorIsRaisedToTheFloor(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		l.config("StrictHostKeyChecking no\n")
		other, _ := newKey(t)
		l.trust(addr1, other.PublicKey())
		l.unrecorded(addr1, sshserver.Config{})
		l.fails(to(host1, ""), nil, term.HostKeyMismatch)
		l.opts.HostKeyFloor = "disabled"
		l.client(to(host1, ""), nil)
		l.opts.HostKeyFloor = "acept_new" // a misspelling must not loosen the check
		l.fails(to(host1, ""), nil, term.InvalidArgument)
	})
}

// TestOperatorMay checks that the operator's own files may set every keyword
// forbidden to a caller.
func TestOperatorMay(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		srv := l.unrecorded(addr1, sshserver.Config{})
		l.trust("alias", srv.HostKey())
		l.config("HostKeyAlias alias\n")
		l.client(to(host1, ""), nil)
	})
}

// TestSettingName checks that warnings about the operator's own settings contain the
// operator's name of the setting.
func TestSettingName(t *testing.T) {
	inBubble(t, func(t *testing.T, l *lab) {
		l.server(addr1, sshserver.Config{})
		l.config("StrictHostKeyChecking no\nForwardAgent yes\n")
		l.opts.SettingName = func(s term.Setting) string { return "conf." + string(s) }
		sh, err := l.client(to(host1, ""), nil).Shell(t.Context(), term.PTY{})
		if err != nil {
			t.Fatal(err)
		}
		warnings := strings.Join(sh.Describe().Warnings, "\n")
		for _, s := range []term.Setting{term.SettingHostKeyFloor, term.SettingAgentForwarding} {
			if want := "(conf." + string(s) + ")"; !strings.Contains(warnings, want) {
				t.Errorf("warnings = %q, want one with %q", warnings, want)
			}
		}
	})
}
