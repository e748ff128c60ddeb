package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ptyctl/internal/cli"

	"ptyctl/internal/setup"
	"ptyctl/internal/tty"
	"ptyctl/quote"
	"ptyctl/term"
)

func setupCommand() *cli.Command {
	return &cli.Command{
		Name: "setup", Usage: "have an MCP client start ptyctl: show the change of the client's file, and write it after a yes",
		ArgsUsage: "[CLIENT]",
		Description: "Without a client it lists all of them, with their files. The rest of a file stays as it is, and the file as\n" +
			"it was is kept beside it. The entry names this program by its path. With --check nothing is written: the\n" +
			"entry is started as the client starts it, and its answers are shown.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "project", Usage: "the file of the project in this folder; the default, if the client has such files"},
			&cli.BoolFlag{Name: "user", Usage: "the user's own file, for all projects"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "write without a question"},
			&cli.BoolFlag{Name: "print", Usage: "print the entry as a new file would have it, and write nothing"},
			&cli.BoolFlag{Name: "remove", Usage: "take the entry out"},
			&cli.BoolFlag{Name: "check", Usage: "start what the client starts, and say what the client will see"},
			&cli.BoolFlag{Name: "daemon", Usage: "keep the sessions in a process of their own, which outlives the client"},
			&cli.StringFlag{Name: "config", Usage: "have the client start ptyctl with this configuration `FILE`"},
		},
		Action: runSetup,
	}
}

func runSetup(c *cli.Context) error {
	words, err := arguments(c, 0, 1)
	if err != nil {
		return err
	}
	scope, err := setupScope(c)
	if err != nil {
		return err
	}
	m, err := setup.ThisMachine()
	if err != nil {
		return err
	}
	if len(words) == 0 {
		if c.Bool("yes") || c.Bool("print") || c.Bool("remove") || c.Bool("check") {
			return usageError{fmt.Errorf("name a client: %s", strings.Join(setup.Names(), ", "))}
		}
		return listClients(c.App.Writer, m, scope)
	}
	client, err := setup.Find(words[0])
	if err != nil {
		return usageError{err}
	}
	if c.Bool("check") {
		return checkClient(c, m, client, scope)
	}
	entry, err := setupEntry(c)
	if err != nil {
		return err
	}
	if c.Bool("print") {
		text, err := client.Fresh(entry)
		if err == nil {
			_, err = io.WriteString(c.App.Writer, text)
		}
		return err
	}
	file, err := client.File(m, scope)
	if err != nil {
		return err
	}
	var change *setup.Change
	if c.Bool("remove") {
		change, err = file.Remove()
	} else {
		change, err = file.Add(entry)
	}
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	return writeChange(c, client, file, change)
}

// setupScope reads the flags that choose a file.
func setupScope(c *cli.Context) (setup.Scope, error) {
	var chosen []string
	for _, name := range []string{"print", "remove", "check"} {
		if c.Bool(name) {
			chosen = append(chosen, "--"+name)
		}
	}
	switch {
	case len(chosen) > 1:
		return 0, usageError{fmt.Errorf("%s exclude each other", strings.Join(chosen, " and "))}
	case c.Bool("project") && c.Bool("user"):
		return 0, usageError{errors.New("--project and --user exclude each other")}
	case c.Bool("project"):
		return setup.Project, nil
	case c.Bool("user"):
		return setup.User, nil
	}
	return setup.Default, nil
}

// setupEntry returns the entry for this program.
func setupEntry(c *cli.Context) (setup.Entry, error) {
	self, err := os.Executable()
	if err != nil {
		return setup.Entry{}, err
	}
	if strings.Contains(filepath.ToSlash(self), "/go-build") {
		return setup.Entry{}, fmt.Errorf("%s is gone after this run; install ptyctl first, and run setup with what you installed", self)
	}
	// A link in PATH outlives an update that puts the program into another folder, as Homebrew does.
	if found, err := exec.LookPath(c.App.Name); err == nil && filepath.IsAbs(found) && sameFile(found, self) {
		self = found
	}
	e := setup.Entry{Command: self, Args: setup.Args(c.Bool("daemon"))}
	if name := c.String("config"); name != "" {
		path, err := filepath.Abs(name)
		if err != nil {
			return e, err
		}
		if _, err := os.Stat(path); err != nil {
			return e, usageError{fmt.Errorf("--config: %w", err)}
		}
		e.Args = append(e.Args, "--config", path)
	}
	return e, nil
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// writeChange shows a change, asks for a yes, and writes it.
func writeChange(c *cli.Context, client setup.Client, file *setup.File, change *setup.Change) error {
	w := c.App.Writer
	if change.None() {
		state := "has the entry already"
		if c.Bool("remove") {
			state = "has no entry of ptyctl"
		}
		fmt.Fprintf(w, "%s %s; nothing to do.\n", tty.Printable(file.Path), state)
		return showVariables(w, file)
	}
	fmt.Fprint(w, tty.Plain(change.Diff()))
	if !c.Bool("remove") {
		if err := showVariables(w, file); err != nil {
			return err
		}
	}
	if !c.Bool("yes") {
		if err := confirm(c.Context, "Write this? [y/N]"); err != nil {
			return err
		}
	}
	backup, err := change.Write()
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	fmt.Fprintf(w, "\nWritten: %s\n", tty.Printable(file.Path))
	if backup != "" {
		fmt.Fprintf(w, "Before:  %s\n", tty.Printable(backup))
	}
	fmt.Fprintf(w, "Next:    %s\n", client.After)
	if !c.Bool("remove") {
		fmt.Fprintf(w, "Check:   ptyctl setup --check %s\n", client.Name)
	}
	return nil
}

// showVariables prints the variables of an existing entry. They stay, and may not be in the lines of the change.
func showVariables(w io.Writer, file *setup.File) error {
	entry, err := file.Entry()
	if err != nil || entry == nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(entry.Env)) {
		if _, err := fmt.Fprintf(w, "The entry sets %s.\n", tty.Printable(name+"="+entry.Env[name])); err != nil {
			return err
		}
	}
	return nil
}

// confirm returns an error unless the person at the terminal says yes.
func confirm(ctx context.Context, question string) error {
	p := tty.NewPrompter()
	if p == nil {
		return errors.New("setup: there is no terminal to ask on; nothing was done. Add --yes to do it without a question")
	}
	defer p.Close()
	answer, err := p.Prompt(ctx, term.Prompt{Text: question, Echo: true})
	if err != nil {
		return fmt.Errorf("setup: nothing was done: %w", err)
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("setup: nothing was done")
	}
	return nil
}

// listClients prints the clients with their files.
func listClients(w io.Writer, m setup.Machine, scope setup.Scope) error {
	const row = "%-16s%-12s%s\n"
	var b strings.Builder
	fmt.Fprintf(&b, row, "CLIENT", "STATE", "FILE")
	for _, client := range setup.Clients() {
		state, path := clientState(m, client, scope)
		fmt.Fprintf(&b, row, client.Name, state, tty.Printable(path))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func clientState(m setup.Machine, client setup.Client, scope setup.Scope) (state, path string) {
	path, err := client.Path(m, scope)
	if err != nil {
		return "not here", "-"
	}
	file, err := client.File(m, scope)
	if err != nil {
		return "unreadable", path
	}
	switch entry, err := file.Entry(); {
	case err != nil:
		return "broken", path
	case entry != nil && entry.Off:
		return "off", path
	case entry != nil:
		return "set up", path
	case file.Exists():
		return "no entry", path
	}
	return "no file", path
}

// checkLimit bounds the wait for a server that is checked.
const checkLimit = 20 * time.Second

// checkClient starts the entry of a client's file, and prints the client's view of the server.
func checkClient(c *cli.Context, m setup.Machine, client setup.Client, scope setup.Scope) error {
	file, entry, err := writtenEntry(m, client, scope)
	if err != nil {
		return err
	}
	w := c.App.Writer
	fmt.Fprintf(w, "%s has in %s:\n  %s\n", client.Title, tty.Printable(file.Path),
		tty.Printable(quote.Show(append([]string{entry.Command}, entry.Args...))))
	for _, name := range slices.Sorted(maps.Keys(entry.Env)) { // they decide what is started, as the command does
		fmt.Fprintf(w, "  with %s\n", tty.Printable(quote.Show([]string{name + "=" + entry.Env[name]})))
	}
	if entry.Off {
		return errors.New("setup: the entry is switched off in that file")
	}
	// A project's file is others' to write, too.
	if !own(*entry) && !c.Bool("yes") {
		if err := confirm(c.Context, "That is more than this program, started as setup does it. Start it? [y/N]"); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(c.Context, checkLimit)
	defer cancel()
	begin := time.Now()
	seen, err := client.Check(ctx, m, *entry, os.Stderr)
	if err != nil {
		return fmt.Errorf("setup: the client would see no server: %w", err)
	}
	fmt.Fprintf(w, "It answers as %s %s with MCP %s, after %s.\n", tty.Printable(seen.Name), tty.Printable(seen.Version),
		tty.Printable(seen.Protocol), time.Since(begin).Round(time.Millisecond))
	fmt.Fprintf(w, "It offers %d tools: %s.\n", len(seen.Tools), tty.Printable(strings.Join(seen.Tools, ", ")))
	switch {
	case slices.Contains(seen.Env, "SSH_AUTH_SOCK"):
		fmt.Fprintln(w, "It has the SSH agent of this shell; a client that is started from the desktop may have another one, or none.")
	case os.Getenv("SSH_AUTH_SOCK") == "":
		fmt.Fprintln(w, "There is no SSH agent here (SSH_AUTH_SOCK is not set).")
	default:
		fmt.Fprintf(w, "%s passes no SSH_AUTH_SOCK on: set identity_agent in ptyctl's configuration, or IdentityAgent in ~/.ssh/config, to use an SSH agent.\n", client.Title)
	}
	return nil
}

// own reports whether an entry starts this program, in one of the ways in which setup has it started. A command that is no
// absolute path is not own: exec looks for it in PATH, but os.Stat in this folder, where a project may have a link sh that
// leads to this program.
func own(e setup.Entry) bool {
	self, err := os.Executable()
	return err == nil && filepath.IsAbs(e.Command) && sameFile(e.Command, self) && len(e.Env) == 0 &&
		(slices.Equal(e.Args, setup.Args(false)) || slices.Equal(e.Args, setup.Args(true)))
}

// writtenEntry returns the entry of a client: of the project's file if it has one, otherwise of the user's.
func writtenEntry(m setup.Machine, client setup.Client, scope setup.Scope) (*setup.File, *setup.Entry, error) {
	scopes := []setup.Scope{scope}
	if scope == setup.Default {
		if scopes[0] = client.Scope(scope); scopes[0] == setup.Project {
			scopes = append(scopes, setup.User)
		}
	}
	var looked []string
	for _, s := range scopes {
		file, err := client.File(m, s)
		if err != nil {
			return nil, nil, err
		}
		entry, err := file.Entry()
		if err != nil {
			return nil, nil, err
		}
		if entry != nil {
			return file, entry, nil
		}
		looked = append(looked, file.Path)
	}
	return nil, nil, fmt.Errorf("setup: there is no entry of ptyctl in %s; `ptyctl setup %s` writes one",
		strings.Join(looked, " nor in "), client.Name)
}
