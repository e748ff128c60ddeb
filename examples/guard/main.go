// Command guard decides which commands may run, writes each down before it starts, and sees how it ended:
//
//	go run ./examples/guard COMMAND
//
// A Gate refuses, a Journal records an action before it begins, an Observer is told afterwards, in a Queue of its own.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"ptyctl/ptyx"
	"ptyctl/session"
	"ptyctl/term"
)

// allowed has the only programs that may run.
var allowed = map[string]bool{"sh": true, "echo": true, "date": true}

// gate refuses all other programs. What it allows, it allows as it is.
func gate(_ context.Context, a term.Action) (term.Ruling, error) {
	if a.Verb == term.VerbOpen && !allowed[path.Base(a.Target.Local.Argv[0])] {
		return term.Ruling{}, term.Errorf(term.PolicyDenied, "%s may not run here", a.Command)
	}
	return term.Ruling{}, nil
}

// journal writes an action down before it begins. An error here would refuse the action.
func journal(to io.Writer) term.Journal {
	return func(e term.Event) error {
		if e.Verb != term.VerbOpen {
			return nil
		}
		_, err := fmt.Fprintf(to, "begin %s\n", e.Command)
		return err
	}
}

// ends tells how programs end.
func ends(to io.Writer) term.Observer {
	return term.ObserverFunc(func(e term.Event) {
		if e.Exit != nil {
			fmt.Fprintf(to, "end %d\n", e.Exit.Code)
		}
	})
}

// run runs a program, with all that happens in log.
func run(ctx context.Context, log io.Writer, argv ...string) error {
	queue := term.NewQueue(0, ends(log))
	defer queue.Close(ctx)
	sessions := session.NewManager(session.Config{
		Dialers: map[string]term.Dialer{"local": ptyx.Host{}.Open},
		Gate:    gate, Journal: journal(log), Observers: []term.Observer{queue},
	})
	defer sessions.Close(ctx)
	opened, err := sessions.Open(ctx, session.OpenRequest{
		Target: term.Target{Protocol: "local", Local: term.LocalOptions{Argv: argv}},
	})
	if err != nil {
		return err
	}
	opened.Session.Read(ctx, session.ReadRequest{End: true, Timeout: time.Minute})
	return nil
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: guard COMMAND")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Stdout, os.Args[1:]...); err != nil {
		fmt.Println("guard:", err)
		os.Exit(1)
	}
}
