package tools

import (
	"cmp"
	"context"
	"strconv"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/profile"
	"ptyctl/session"
	"ptyctl/term"
)

// open connects and waits until the session is open or its login asks a question. All arguments are checked before
// the connection starts: a wrong one must not leave a half-open session.
func open(ctx context.Context, c *toolset.Call, in *sessionArgs, out *sessionOut) error {
	if err := in.reach(c.Checker()); err != nil {
		return err
	}
	if err := checkAuth(c, in); err != nil {
		return err
	}
	if err := checkConsole(c, in); err != nil {
		return err
	}
	if err := checkLocal(c, in); err != nil {
		return err
	}
	expect, err := (&expectArgs{patternArgs: in.Expect}).compile("expect", nil)
	if err != nil {
		return err
	}
	until, err := in.screen(c)
	if err != nil {
		return err
	}
	// Only now: target warns of timeouts that it lowers, which is noise beside a refusal.
	t := in.target(c)
	if t.Local, err = local(c, in.Argv, in.Cwd, in.Env, in.Title, in.Limits); err != nil {
		return err
	}
	// The caller's own choice goes first. After that, a profile knows better than the default.
	if p, ok := profile.Get(expect.Profile); ok && t.Protocol == "telnet" && t.Telnet.Enter == "" && p.Enter != "auto" {
		t.Telnet.Enter = p.Enter
	}
	req := session.OpenRequest{
		Target: t, Device: in.DeviceID, Expect: expect, Wait: c.Limits().MaxWait,
		IdleTimeout: c.Millis("timeouts.idle_timeout_ms", in.Timeouts.Idle, 0, ""),
	}
	if in.AcquireLock {
		// Taken as part of opening: between an open and a lock another task could come first.
		req.LockTTL = lockTTL(c, in.LockTTL)
	}
	// There is no session yet, so progress can only report the time.
	c.Waits("connecting", nil)
	res, err := c.Open(ctx, req)
	if err != nil {
		return err
	}
	if res.Prompt != nil &&
		in.RequestID == "" { // a retry must get the same answer, and no person a second question
		c.Ask(&toolset.Opening{OpenResult: res, Show: func(
			ctx context.Context, c *toolset.Call, res session.OpenResult,
		) (any, error) {
			again := &sessionOut{Action: c.Action(), Success: true}
			opened(c, in, res, again)
			again.look(ctx, c, in, res, until)
			again.Warnings = append(again.Warnings, c.Warnings()...)
			return again, nil
		}})
	}
	opened(c, in, res, out)
	out.look(ctx, c, in, res, until)
	return nil
}

// awaits reports whether the call waits for something to appear.
func (in *sessionArgs) awaits() bool {
	return in.UntilRegex != "" || in.UntilPrompt || in.UntilScreen != ""
}

// screen returns the screen read that the call asks for once its session is open, or nil.
func (in *sessionArgs) screen(c *toolset.Call) (*session.ReadRequest, error) {
	ch := c.Checker()
	switch wants := in.awaits() || in.Format == formatScreen; {
	case !wants && in.Format != "":
		return nil, ch.Invalid("format", nil,
			"format is for the output that open waits for: give until_regex or until_prompt too, or format screen")
	case in.UntilScreen != "" && in.Format != "" && in.Format != formatScreen:
		return nil, ch.Invalid("until_screen", nil, "until_screen is for format screen, not for format %s; give format screen",
			in.Format)
	case in.UntilRegex != "" && (in.UntilScreen != "" || in.Format == formatScreen):
		return nil, ch.Invalid("until_regex", nil,
			"until_regex is for output, and format screen returns the screen: give until_screen, which matches the rows")
	case !wants && in.TimeoutMS != nil && *in.TimeoutMS > 0:
		return nil, ch.Invalid("timeout_ms", nil, "timeout_ms is for until_regex, until_prompt or until_screen, and none is given; "+
			"timeouts.connect_timeout_ms is for the connection")
	case !wants:
		return nil, nil
	case in.SessionType == "exec":
		return nil, ch.Invalid("session_type", nil,
			"session_type exec has no terminal to wait for; leave until_regex, until_prompt, until_screen and format out")
	}
	if in.UntilScreen != "" {
		in.Format = formatScreen
	}
	in.Format = formatOf(c, in.Format, "")
	r := &session.ReadRequest{
		Prompt: in.UntilPrompt, MaxBytes: defaultChunk, Timeout: c.Limits().ReadTimeout,
		Clean: in.Format != formatRaw,
	}
	if in.TimeoutMS != nil {
		r.Timeout = c.Millis("timeout_ms", *in.TimeoutMS, c.Limits().MaxWait, "limits.max_wait_ms")
	}
	var err error
	if in.UntilRegex != "" {
		r.Until, err = schema.RegexpArgument("until_regex", in.UntilRegex)
	}
	if in.UntilScreen != "" {
		r.Screen.Shows, err = schema.RegexpArgument("until_screen", in.UntilScreen)
	}
	if in.Format == formatScreen {
		*r = settled(*r)
	}
	return r, err
}

// look waits as until says, and adds the output to the result. It does not while the login asks: its output is in the
// prompt.
func (out *sessionOut) look(
	ctx context.Context, c *toolset.Call, in *sessionArgs, res session.OpenResult, until *session.ReadRequest,
) {
	if until == nil || res.State != session.Open && !res.State.Ended() {
		return
	}
	s, r := res.Session, *until
	if res.Existing { // earlier output of a console is history, except its last line
		r.Cursor = s.Read(ctx, session.ReadRequest{Tail: true, MaxLines: 1}).Start
	}
	c.Waits("the output of "+s.ID(), s)
	r = r.Within(min(r.Timeout, c.Left()))
	seen, args := &ioOut{}, &ioArgs{UntilRegex: in.UntilRegex, Format: in.Format}
	if in.Format == formatScreen {
		seen.screen(ctx, c, s, r, args)
	} else {
		k := s.Read(ctx, r)
		if k.Reason == session.ReasonLimit { // the open itself succeeded
			c.Inform(wire.WordsFor(ctx).Of(s.TooManyReads()))
		}
		show(ctx, c, s, k, args, nil, seen)
	}
	out.awaits = in.awaits()
	out.readOut, out.WaitingFor, out.WaitingForInput = seen.readOut, seen.WaitingFor, seen.WaitingForInput
	if out.EndCode == "" {
		out.EndCode = seen.EndCode
	}
	if in.TimeoutMS != nil {
		inMilliseconds(c, "timeout_ms", *in.TimeoutMS, seen.TimedOut)
	}
}

// opened adds the state of the new session, or its login's question, to the result.
func opened(c *toolset.Call, in *sessionArgs, res session.OpenResult, out *sessionOut) {
	i := res.Session.Info()
	// The cursor is 0 so that a first read misses nothing: a banner or a login prompt comes before the result
	// does.
	out.SessionID, out.Protocol, out.State, out.Cursor = i.ID, i.Protocol, res.State, "0"
	out.Prompt, out.WaitingForInput = (*wire.Prompt)(res.Prompt), res.Prompt != nil
	out.WaitingFor = wire.PersonOf(res.Session, out.Prompt)
	if res.State == session.Open || res.State.Ended() {
		// The result of the negotiation is known only now; before, the members are left out rather than
		// guessed.
		enabled := i.About.PTY
		out.PTYEnabled, out.ServerBanner = &enabled, i.About.ServerBanner
		out.Capabilities = (*wire.Capabilities)(&i.About.Capabilities)
		out.unusual = in.wantsTerminal() && i.Protocol == "ssh" && i.About.Capabilities != usual
		out.SecurityWarning, out.Telnet = i.About.Security, (*wire.Telnet)(i.About.Telnet)
		out.Serial = (*wire.Serial)(i.About.Serial)
		for _, w := range i.About.Warnings {
			c.Warn(w)
		}
	}
	if p := i.About.Process; p != nil {
		out.PID, out.Cwd, out.StartedAt = p.PID, p.Dir, i.Created.UnixMilli()
		out.Warnings = append(out.Warnings, lowered(in.Limits.limits(), p.Limits)...)
	}
	if res.State.Ended() {
		out.EndCode = i.End.Code
		// Not an error: a program that ended has run, and its output and status are there to be read.
		out.Warnings = append(
			out.Warnings,
			"the session was over at once: "+i.End.Reason+"; read its output from cursor 0",
		)
	}
	// A console is one for each device. The call has joined it, and its own arguments did not count.
	if res.Existing {
		existing(c, in, i, out)
	} else if in.AcquireLock {
		acquired := res.Lease != nil
		out.LockAcquired = &acquired
		if acquired {
			out.lease(*res.Lease)
		}
	}
}

// target returns the target that the arguments describe.
func (in *sessionArgs) target(c *toolset.Call) term.Target {
	t := term.Target{
		Protocol: in.Protocol, Host: in.Host, Port: in.Port, User: in.Username,
		// The operator's limit holds for it as well: a connection that hangs occupies one of the few
		// handshakes that run at a time.
		ConnectTimeout: c.Millis(
			"timeouts.connect_timeout_ms",
			in.Timeouts.Connect,
			c.Limits().MaxConnectTimeout,
			"limits.max_connect_timeout_ms",
		),
		Auth: term.Auth{
			Method: in.Auth.Method, Password: in.Auth.Password, PrivateKeyPEM: in.Auth.PrivateKeyPEM,
			Passphrase: in.Auth.Passphrase, Secret: in.Auth.Secret,
			// The caller may switch questions off, and only the operator on.
			NoInteractive: c.NoInteractive() || isFalse(in.Auth.Interactive),
		},
		CommandsOnly: in.SessionType == "exec",
		PTY: term.PTY{
			Disabled: isFalse(in.PTY.Enabled), Cols: in.PTY.Cols, Rows: in.PTY.Rows, Term: in.PTY.Term,
			NoAnswers: in.PTY.Answer == "never",
		},
		SSH: term.SSHOptions{
			HostKeyPolicy: in.SSH.HostKeyPolicy, HostKeyFingerprint: in.SSH.Fingerprint, KnownHostsPath: in.SSH.KnownHosts,
			NoConfig: isFalse(in.SSH.UseConfig), ConfigPath: in.SSH.ConfigPath, ExtraArgs: in.SSH.ExtraArgs,
			Legacy: in.SSH.Legacy, ProxyJump: in.SSH.ProxyJump, ProxyURL: in.SSH.ProxyURL,
		},
		Telnet: term.TelnetOptions{
			Mode: in.Telnet.Mode, Enter: in.Telnet.Enter, Binary: in.Telnet.Binary, TLS: term.TLSOptions(in.Telnet.TLS),
		},
		Serial: term.SerialOptions(in.Serial),
	}
	// A credential says by itself how it is meant.
	if t.Auth.Method == "" && t.Auth.PrivateKeyPEM != "" {
		t.Auth.Method = "private_key"
	}
	if t.Auth.Method == "" && t.Auth.Password != "" {
		t.Auth.Method = "password"
	}
	return t
}

// telnetDefaults have no effect: clients that give every argument send them.
var telnetDefaults = openTelnet{Mode: "auto", Enter: "auto", Binary: "auto"}

// checkAuth refuses credentials that do not go together.
func checkAuth(c *toolset.Call, in *sessionArgs) error {
	ch := c.Checker()
	switch a := &in.Auth; {
	case in.Protocol == "telnet" && in.Auth != (openAuth{}):
		return ch.Invalid(
			"auth",
			nil,
			"Telnet has no authentication of its own: leave auth out, "+
				"read the device's login prompt with ptyctl_session_io and answer it with write (sensitive for the password)",
		)
	case in.Protocol != "telnet" && in.Telnet != (openTelnet{}) && in.Telnet != telnetDefaults:
		return ch.Invalid("telnet", nil, "telnet is for protocol telnet, not for %s; leave it out", in.Protocol)
	case a.Method == "private_key" && a.PrivateKeyPEM == "":
		return ch.Invalid(
			"auth.private_key_pem",
			nil,
			"auth.method private_key needs auth.private_key_pem: the whole text of the key",
		)
	case a.Method == "agent" && (a.Password != "" || a.PrivateKeyPEM != ""):
		return ch.Invalid(
			"auth.method",
			nil,
			"auth.method agent takes no password and no key; leave method out to use what is given",
		)
	case a.Method == "password" && a.PrivateKeyPEM != "":
		return ch.Invalid(
			"auth.private_key_pem",
			nil,
			"auth.method password takes no private_key_pem; use method private_key, or auto for both",
		)
	// A lock without a name could be released by no one but its expiry.
	case in.AcquireLock && in.TaskID == "":
		return ch.Invalid("task_id", nil, "acquire_lock needs task_id: the name under which you hold the lock")
	}
	return nil
}

// usual are the capabilities of an SSH session with a terminal.
var usual = term.Capabilities{
	SplitStdoutStderr: term.Yes, ExitCode: term.Yes, Resize: term.Yes, Signal: term.Maybe, ParallelExec: term.Yes,
}

// wantsTerminal reports whether the call asks for a session with a terminal.
func (in *sessionArgs) wantsTerminal() bool {
	return in.SessionType != "exec" && !isFalse(in.PTY.Enabled)
}

// isFalse reports whether a boolean argument is given and false; an absent one means the default, true.
func isFalse(b *bool) bool { return b != nil && !*b }

// reach sets the arguments for the parts of a host such as alice@web1:22 or telnet://sw1. A part that another argument
// contradicts is refused: neither of the two is known to be the right one.
func (in *sessionArgs) reach(ch *schema.Checker) error {
	if in.Host != "" {
		d, err := toolset.HostOf(ch, "host", in.Host, "pass the bare name as host, the user as username, "+
			"and the password as auth.password (Telnet: at its login prompt)")
		if err != nil {
			return err
		}
		var port string
		if d.Port != 0 {
			port = strconv.Itoa(d.Port)
		}
		for _, part := range []struct{ name, inHost, given string }{
			{"username", d.User, in.Username}, {"port", port, strconv.Itoa(in.Port)}, {"protocol", d.Protocol, in.Protocol},
		} {
			if part.inHost != "" && part.given != "" && part.given != "0" && part.inHost != part.given {
				return ch.Invalid(
					part.name,
					nil,
					"host says %s %s, and %s says %s; leave one of the two out",
					part.name,
					schema.Shorten(part.inHost),
					part.name,
					schema.Shorten(part.given),
				)
			}
		}
		in.Host, in.Username = d.Host, cmp.Or(d.User, in.Username)
		in.Port, in.Protocol = cmp.Or(d.Port, in.Port), cmp.Or(d.Protocol, in.Protocol)
	}
	if in.Protocol == "" {
		return ch.Invalid("protocol", ch.Fields(), "protocol is missing for action open; use one of ssh, telnet, serial, local")
	}
	return nil
}
