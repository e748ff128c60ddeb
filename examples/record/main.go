// Command record opens an SSH session for commands, runs one, and records it:
//
//	go run ./examples/record FILE HOST COMMAND
//
// Then it plays the recording on a screen, and prints the last picture of a player. HOST is a name that ssh knows.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"ptyctl/record"
	"ptyctl/session"
	"ptyctl/sshx"
	"ptyctl/term"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: record FILE HOST COMMAND")
		os.Exit(2)
	}
	err := run(context.Background(), os.Args[1], term.Target{Protocol: "ssh", Host: os.Args[2]}, os.Args[3])
	if err == nil {
		var picture string
		picture, err = last(os.Args[1])
		fmt.Print(picture)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// run records a session with one command into a new file.
func run(ctx context.Context, path string, host term.Target, command string) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	recorder := record.New(file, record.Options{
		// A program that keeps the newest seal where others cannot write finds any change of the file.
		Sealed: func(s record.Seal) { fmt.Fprintf(os.Stderr, "seal %d: %s\n", s.Number, s.Hash) },
	})
	defer func() { err = errors.Join(err, recorder.Close()) }() // after the session has ended

	sessions := session.NewManager(session.Config{
		Dialers:   map[string]term.Dialer{"ssh": sshx.Dialer(sshx.Options{})},
		Observers: []term.Observer{recorder},
	})
	defer sessions.Close(ctx)
	host.CommandsOnly = true // what comes in a terminal meanwhile would be drawn, too
	opened, err := sessions.Open(ctx, session.OpenRequest{Target: host})
	if err != nil {
		return err
	}
	if opened.Prompt != nil { // examples/login answers
		return fmt.Errorf("%s asks: %s", host.Host, opened.Prompt.Text)
	}
	_, err = opened.Session.Exec(ctx, session.ExecRequest{Command: command, Lane: session.LaneChannel, Timeout: time.Minute})
	return err
}

// last returns the picture of a player at the end of a recording.
func last(path string) (string, error) {
	player, err := record.Play(path)
	if err != nil {
		return "", err
	}
	defer player.Close()
	if err := player.Seek(24 * time.Hour); err != nil {
		return "", err
	}
	return player.Shown.Snapshot().Text(), nil
}
