package plan_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/sshx/internal/sshtest"
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
				l := sshtest.New(t)
				srv := l.Server(sshtest.Addr1, sshserver.Config{AcceptEnv: []string{"*"}})
				l.Opts.AllowExecDirectives = true // for the operator's files only
				l.Opts.CallerPaths = []string{l.Path("allowed")}
				marker := l.Path("marker")
				const only = "Host 192.0.2.1\n"
				option := strings.NewReplacer("%m", marker, "%o", l.Write("outside", ""), "%%", "%").Replace(tc.option)
				target := sshtest.To(sshtest.Host1, "")
				if tc.first != nil {
					tc.first(&l.Opts, &target)
				}
				switch source {
				case "extra_args":
					target.SSH.ExtraArgs = []string{"-o", option}
				case "config_path":
					target.SSH.ConfigPath = l.Write("allowed/config", only+option+"\n")
				case "-F":
					target.SSH.ExtraArgs = []string{"-F", l.Write("allowed/config", only+option+"\n")}
				case "Include":
					target.SSH.ConfigPath = l.Write("allowed/config", "Include "+l.Write("allowed/included", only+option+"\n")+"\n")
				}
				if tc.kind == "" { // at most a warning; the connection must succeed
					c := l.Client(target, nil)
					sh, err := c.Shell(t.Context(), term.PTY{})
					if err != nil {
						t.Fatal(err)
					}
					warnings := strings.Join(sh.Describe().Warnings, "\n")
					if !strings.Contains(warnings, tc.names) || strings.Contains(warnings, "hunter2-1138") {
						t.Errorf("warnings %q lack %q", warnings, tc.names)
					}
				} else {
					e := l.Fails(target, sshtest.NoPrompter(t), tc.kind)
					if !strings.Contains(e.Msg, tc.names) && string(term.FactOf[term.Denial](e).Setting) != tc.names {
						t.Errorf("%q, %+v: names no %s", e.Msg, e.Facts, tc.names)
					}
					if srv.Stats().Accepted != 0 || len(l.Dials) != 0 {
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
		set   func(*sshtest.Lab, *term.SSHOptions)
		kind  term.Kind
		field term.Field
	}{
		"policy":                 {func(_ *sshtest.Lab, o *term.SSHOptions) { o.HostKeyPolicy = "disabled" }, term.PolicyDenied, term.FieldHostKeyPolicy},
		"no such policy":         {func(_ *sshtest.Lab, o *term.SSHOptions) { o.HostKeyPolicy = "lax" }, term.InvalidArgument, term.FieldHostKeyPolicy},
		"known_hosts_path":       {func(_ *sshtest.Lab, o *term.SSHOptions) { o.KnownHostsPath = outside }, term.PolicyDenied, term.FieldKnownHosts},
		"known_hosts_path, link": {func(l *sshtest.Lab, o *term.SSHOptions) { o.KnownHostsPath = l.Link("allowed/link", outside) }, term.PolicyDenied, term.FieldKnownHosts},
		"known_hosts_path, link to nowhere": {func(l *sshtest.Lab, o *term.SSHOptions) {
			o.KnownHostsPath = l.Link("allowed/link", outside+"2")
		}, term.PolicyDenied, term.FieldKnownHosts},
		"known_hosts_path, dots": {func(l *sshtest.Lab, o *term.SSHOptions) {
			o.KnownHostsPath = l.Path("allowed") + "/../.ssh/known_hosts"
		}, term.PolicyDenied, term.FieldKnownHosts},
		"config_path": {func(_ *sshtest.Lab, o *term.SSHOptions) { o.ConfigPath = outside }, term.PolicyDenied, term.FieldConfigPath},
		"-F":          {func(_ *sshtest.Lab, o *term.SSHOptions) { o.ExtraArgs = []string{"-F", outside} }, term.PolicyDenied, term.FieldConfigPath},
		"Include":     {func(l *sshtest.Lab, o *term.SSHOptions) { o.ConfigPath = l.Write("allowed/c", "Include "+outside+"\n") }, term.PolicyDenied, term.FieldConfigPath},
		"-i":          {func(_ *sshtest.Lab, o *term.SSHOptions) { o.ExtraArgs = []string{"-i", outside} }, term.PolicyDenied, term.FieldSSH},
		"-A":          {func(_ *sshtest.Lab, o *term.SSHOptions) { o.ExtraArgs = []string{"-A"} }, term.PolicyDenied, term.FieldExtraArgs},
		"-L":          {func(_ *sshtest.Lab, o *term.SSHOptions) { o.ExtraArgs = []string{"-L", "1:a:2"} }, term.Unsupported, term.FieldExtraArgs},
		"proxy_url":   {func(_ *sshtest.Lab, o *term.SSHOptions) { o.ProxyURL = "ftp://u:hunter2-1138@h" }, term.InvalidArgument, term.FieldProxyURL},
	} {
		t.Run(name, func(t *testing.T) {
			l := sshtest.New(t)
			l.Write("allowed/x", "")
			l.Opts.CallerPaths = []string{l.Path("allowed")}
			srv := l.Server(sshtest.Addr1, sshserver.Config{})
			target := sshtest.To(sshtest.Host1, "")
			tc.set(l, &target.SSH)
			e := l.Fails(target, sshtest.NoPrompter(t), tc.kind)
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
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Opts.CallerPaths = []string{l.Path("allowed")}
		l.Unrecorded(sshtest.Addr1, sshserver.Config{})
		target := sshtest.To(sshtest.Host1, "")
		target.SSH = term.SSHOptions{KnownHostsPath: l.Path("allowed/known_hosts"), HostKeyPolicy: "accept_new"}
		l.Write("allowed/x", "")
		sh, err := l.Client(target, nil).Shell(t.Context(), term.PTY{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(
			sh.Describe().Warnings,
			func(w string) bool { return strings.Contains(w, "as well as with the operator's known_hosts") },
		) {
			t.Errorf("warnings %q", sh.Describe().Warnings)
		}
		if text, err := os.ReadFile(l.Path("allowed/known_hosts")); err != nil || len(text) == 0 {
			t.Errorf("not recorded there: %v", err)
		}
	})
}

// TestOperatorIsRaisedToTheFloor checks that the operator's own configuration is
// raised, not refused.
func TestOperatorIsRaisedToTheFloor(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Config("StrictHostKeyChecking no\n")
		other, _ := sshtest.NewKey(t)
		l.Trust(sshtest.Addr1, other.PublicKey())
		l.Unrecorded(sshtest.Addr1, sshserver.Config{})
		l.Fails(sshtest.To(sshtest.Host1, ""), nil, term.HostKeyMismatch)
		l.Opts.HostKeyFloor = "disabled"
		l.Client(sshtest.To(sshtest.Host1, ""), nil)
		l.Opts.HostKeyFloor = "acept_new" // a misspelling must not loosen the check
		l.Fails(sshtest.To(sshtest.Host1, ""), nil, term.InvalidArgument)
	})
}

// TestOperatorMay checks that the operator's own files may set every keyword
// forbidden to a caller.
func TestOperatorMay(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Unrecorded(sshtest.Addr1, sshserver.Config{})
		l.Trust("alias", srv.HostKey())
		l.Config("HostKeyAlias alias\n")
		l.Client(sshtest.To(sshtest.Host1, ""), nil)
	})
}

// TestSettingName checks that warnings about the operator's own settings contain the
// operator's name of the setting.
func TestSettingName(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{})
		l.Config("StrictHostKeyChecking no\nForwardAgent yes\n")
		l.Opts.SettingName = func(s term.Setting) string { return "conf." + string(s) }
		sh, err := l.Client(sshtest.To(sshtest.Host1, ""), nil).Shell(t.Context(), term.PTY{})
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

// TestWarningsOnce checks that a line of a file that is read for each hop is warned of once.
func TestWarningsOnce(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		const jump = "192.0.2.2" // of Addr2
		l.Server(sshtest.Addr2, sshserver.Config{AllowForward: true})
		l.Server(sshtest.Addr1, sshserver.Config{})
		known, err := os.ReadFile(l.Path(".ssh/known_hosts"))
		if err != nil {
			t.Fatal(err)
		}
		l.Write(".ssh/known_hosts", "no line of a key\n"+string(known))
		l.Config("Host " + sshtest.Host1 + "\n ProxyJump " + jump + "\nHost *\n StrictHostKeyChecking no\n User u\n")
		sh, err := l.Client(sshtest.To(sshtest.Host1, ""), nil).Shell(t.Context(), term.PTY{})
		if err != nil {
			t.Fatal(err)
		}
		warnings := strings.Join(sh.Describe().Warnings, "\n")
		for _, part := range []string{"weaker than the operator allows", "line ignored"} {
			if n := strings.Count(warnings, part); n != 1 {
				t.Errorf("warnings = %q: %d of them say %q, want one", warnings, n, part)
			}
		}
	})
}
