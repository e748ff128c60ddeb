package commands

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
	"ptyctl/secret"
	"ptyctl/term"
)

func secretCommand() *cli.Command {
	return group(&cli.Command{
		Name: "secret", Usage: "look at the operator's secrets, try them, and store their values",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "the secrets of the configuration, without their values",
				Flags: []cli.Flag{configFlag()}, Action: listSecrets,
			},
			{
				Name: "check", Usage: "fetch the value of a secret, and forget it", ArgsUsage: "NAME",
				Flags: []cli.Flag{configFlag()}, Action: checkSecret,
			},
			{
				Name: "set", Usage: "store a value in the keyring or in an age file; it is asked for, and not shown",
				ArgsUsage: "NAME",
				Flags:     []cli.Flag{configFlag(), &cli.BoolFlag{Name: "stdin", Usage: "read the value from a line of stdin"}},
				Action:    setSecret,
			},
		},
	})
}

// secrets returns the secrets of the configuration, and their entries.
func secrets(c *cli.Context) ([]config.NamedSecret, []secret.Definition, error) {
	cfg, err := fileConfig(c)
	if err != nil {
		return nil, nil, err
	}
	list, err := app.Secrets(cfg.Secret, nil)
	if err != nil {
		return nil, nil, &app.ConfigError{Err: err}
	}
	return cfg.Secret, list, nil
}

// oneSecret returns the secret that the command line names.
func oneSecret(c *cli.Context) (secret.Definition, error) {
	if c.NArg() != 1 {
		return secret.Definition{}, usageError{errors.New("give one NAME; ptyctl secret list has them")}
	}
	_, list, err := secrets(c)
	if err != nil {
		return secret.Definition{}, err
	}
	var names []string
	for _, d := range list {
		if d.Name == c.Args().First() {
			return d, nil
		}
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return secret.Definition{}, usageError{errors.New("the configuration has no [secret.NAME]")}
	}
	return secret.Definition{}, usageError{fmt.Errorf("there is no secret %q; the configuration has %s", c.Args().First(),
		strings.Join(names, ", "))}
}

func listSecrets(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	entries, _, err := secrets(c)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintln(c.App.Writer, "The configuration has no [secret.NAME].")
		return err
	}
	rows := [][]string{{"NAME", "SOURCE", "PLACES", "USERS", "USES", "CALLERS", "CONFIRM"}}
	for _, e := range entries {
		places := append(slices.Clone(e.Hosts), e.Devices...)
		if e.Local {
			places = append(places, "local")
		}
		uses := list(e.Uses)
		if e.Auto {
			uses += ", auto"
		}
		if len(e.Commands) > 0 {
			uses += ", commands " + strings.Join(e.Commands, "; ")
		}
		rows = append(rows, []string{
			e.Name, tty.Plain(e.Source), strings.Join(places, " "), list(e.Users), tty.Plain(uses), list(e.Callers), e.Confirm,
		})
	}
	var b strings.Builder
	tty.Table(&b, rows, tty.TableWidth)
	_, err = io.WriteString(c.App.Writer, b.String())
	return err
}

// list joins the words of a key for which an empty value means any.
func list(words []string) string {
	if len(words) == 0 {
		return "any"
	}
	return strings.Join(words, " ")
}

func checkSecret(c *cli.Context) error {
	d, err := oneSecret(c)
	if err != nil {
		return err
	}
	if err := d.Try(c.Context); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "secret %s: its source has a value\n", d.Name)
	return err
}

func setSecret(c *cli.Context) error {
	d, err := oneSecret(c)
	if err != nil {
		return err
	}
	value, err := askSecret(c, d.Name)
	if err != nil {
		return err
	}
	defer clear(value)
	if err := d.Set(c.Context, value); err != nil {
		return fmt.Errorf("secret %s: %w", d.Name, err)
	}
	_, err = fmt.Fprintf(c.App.Writer, "secret %s: stored\n", d.Name)
	return err
}

// askSecret reads a value from the terminal, twice, or from a line of stdin.
func askSecret(c *cli.Context, name string) ([]byte, error) {
	if c.Bool("stdin") {
		line, err := bufio.NewReader(io.LimitReader(os.Stdin, secret.MaxBytes+1)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return []byte(strings.TrimRight(line, "\r\n")), nil
	}
	p := tty.NewPrompter()
	if p == nil {
		return nil, usageError{errors.New("there is no terminal to ask at; give the value to --stdin")}
	}
	defer p.Close()
	first, err := p.Prompt(c.Context, term.Prompt{Kind: term.PromptPassword, Text: "Value of " + name + ": "})
	if err != nil {
		return nil, err
	}
	second, err := p.Prompt(c.Context, term.Prompt{Kind: term.PromptPassword, Text: "Again: "})
	if err != nil {
		return nil, err
	}
	if first != second {
		return nil, errors.New("the two values differ; nothing was stored")
	}
	return []byte(first), nil
}
