package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"ptyctl/internal/cli"

	"ptyctl/control"
	"ptyctl/internal/client"
	"ptyctl/internal/rundir"
	"ptyctl/internal/tty"
	"ptyctl/term"
	"ptyctl/watch"
)

func watchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "show the sessions in a browser, until ctrl-c: watch, step in, answer, replay",
		ArgsUsage: "[ID]",
		Description: "It serves a page on this machine alone, and opens it. The link works once, within a minute; enter\n" +
			"prints another. What the page may do is what control_mode of the ptyctl that is watched allows.",
		Flags: append(
			reachFlags(),
			&cli.BoolFlag{Name: "all", Usage: "of every ptyctl of yours, also of those that begin later"},
			&cli.BoolFlag{Name: "print-url", Usage: "print the link, and open no browser"},
			&cli.IntFlag{Name: "port", Usage: "serve at this `PORT`; default a free one"},
			identityFlag(),
		),
		Action: runWatch,
	}
}

func runWatch(c *cli.Context) error {
	args, err := arguments(c, 0, 1)
	if err != nil {
		return err
	}
	if c.Int("port") < 0 || c.Int("port") > 65535 {
		return usageError{fmt.Errorf("--port takes a number up to 65535, not %d", c.Int("port"))}
	}
	o, session, err := watched(c, args)
	if err != nil {
		return err
	}
	dir, err := recordingsFolder(c)
	if err != nil {
		return err
	}
	ids, err := identities(c)
	if err != nil {
		return err
	}
	// The kernel chooses a port, or the operator has: others get an answer from the page's own names alone.
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Int("port"))))
	if err != nil {
		return fmt.Errorf("the page has no port: %w; choose another one with --port", err)
	}
	s := watch.New(watch.Options{Processes: o, Recordings: dir, Identities: ids})
	// Closing the terminal window ends it too, and gives back the terminals that were taken.
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGHUP)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	link := func() string { return s.Link(l.Addr(), session) }
	defer func() { _ = os.Remove(linkFile()) }()
	if err := present(c, link); err != nil {
		stop()
		return errors.Join(err, <-served)
	}
	if tty.IsTerminal(os.Stdin) {
		go anotherLink(c, link) // a read of a terminal cannot be interrupted; the process ends soon after
	}
	return <-served
}

// watched returns how the processes are reached that are meant, and the id of the session that is shown first.
func watched(c *cli.Context, args []string) (o client.Options, session string, err error) {
	cfg, err := fileConfig(c)
	if err != nil {
		return o, "", err
	}
	all, err := reach(c)
	if err != nil && (!c.Bool("all") || len(args) > 0 || term.KindOf(err) != term.ConnectFailed) {
		return o, "", err
	} // else those are shown that begin later
	defer all.Close()
	o = client.Options{
		Configured: cfg.Server.Control.ControlSocketPath,
		Options: control.Options{
			Token: cfg.Server.Control.ControlAuthToken.Reveal(), Command: c.Command.Name, Version: c.App.Version,
		},
	}
	var p *client.Process
	if len(args) == 1 {
		found, err := all.Find(c.Context, args[0])
		if err != nil {
			return o, "", err
		}
		session, p = found.SessionID, found.Process
	}
	if c.Bool("all") {
		// Each process is asked once more when its stream begins, and the page names a process that refuses.
		return o, session, nil
	}
	if p == nil {
		if p, err = all.One(", or take --all"); err != nil {
			return o, "", err
		}
	}
	if err := watch.MayWatch(c.Context, p); err != nil {
		return o, "", err
	}
	// The socket of a process is at this path as long as it lives, and names it by its id in the list of all.
	if o.PID = p.PID; o.PID == 0 {
		o.Path = p.Path
	}
	return o, session, nil
}

// present opens the page in the browser, or prints its link.
func present(c *cli.Context, link func() string) error {
	if !c.Bool("print-url") {
		err := browse(c.Context, link())
		if err == nil {
			fmt.Fprintln(c.App.ErrWriter, "[ptyctl: the page is in your browser; enter prints a new link, ctrl-c ends it]")
			return nil
		}
		fmt.Fprintf(c.App.ErrWriter, "[ptyctl: no browser can be opened (%v); open this link within a minute]\n", err)
	}
	_, err := fmt.Fprintln(c.App.Writer, link())
	return err
}

// anotherLink prints a link for each line that is entered.
func anotherLink(c *cli.Context, link func() string) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := fmt.Fprintln(c.App.Writer, link()); err != nil {
			return
		}
	}
}

// linkFile is the path of a file with the link.
func linkFile() string {
	dir, err := rundir.Dir()
	if err != nil {
		return "" // which cannot be written either
	}
	return filepath.Join(dir, fmt.Sprintf("watch-%d.html", os.Getpid()))
}

// openTime is how long a program may take to say that it cannot open a browser.
const openTime = 3 * time.Second

// browse opens a link in the person's browser. Others may see the arguments of a program, so the link is in a file that
// only this user can read.
func browse(ctx context.Context, link string) error {
	name, args := "xdg-open", []string{}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler"}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no display")
		}
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return err
	}
	path := linkFile()
	if err := rundir.Own(filepath.Dir(path)); err != nil {
		return err
	}
	// The link is base64 and a port, and has no character that HTML knows.
	text := fmt.Sprintf("<!doctype html><meta charset=utf-8><title>ptyctl</title>"+
		"<meta name=referrer content=no-referrer><meta http-equiv=refresh content=\"0;url=%s\">", link)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	// Some of these programs become the browser, which must outlive this one.
	cmd := exec.Command(program, append(args, path)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the program, or this process
	timer := time.NewTimer(openTime)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return nil
	}
}
