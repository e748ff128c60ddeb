package commands

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ptyctl/internal/cli"

	"ptyctl/internal/tokenfile"
	"ptyctl/internal/tty"
)

func tokensCommand() *cli.Command {
	file := &cli.StringFlag{Name: "file", Usage: "the `FILE` of tokens; default server.http.tokens_file"}
	return group(&cli.Command{
		Name: "tokens", Usage: "make, list and revoke the tokens of the HTTP transport",
		Subcommands: []*cli.Command{
			{
				Name: "add", Usage: "make a token and print it; the file gets its SHA-256 alone", ArgsUsage: "NAME",
				Flags: []cli.Flag{
					configFlag(), file,
					&cli.StringFlag{Name: "role", Usage: "one of read, write, watch, operate; default write"},
					&cli.StringFlag{Name: "expires", Usage: "when it ends: 90d, 12h, 2027-01-31 or a time of RFC 3339; default never"},
				},
				Action: addToken,
			},
			{
				Name: "list", Usage: "the tokens of the file, without their values",
				Flags: []cli.Flag{configFlag(), file, &cli.BoolFlag{Name: "json", Usage: "print JSON"}}, Action: listTokens,
			},
			{
				Name: "revoke", Usage: "take a token out of the file", ArgsUsage: "NAME",
				Flags: []cli.Flag{configFlag(), file}, Action: revokeToken,
			},
		},
	})
}

// tokensFile returns the path of the file of tokens.
func tokensFile(c *cli.Context) (string, error) {
	if path := c.String("file"); path != "" {
		return filepath.Abs(path)
	}
	cfg, err := fileConfig(c)
	if err != nil {
		return "", err
	}
	if cfg.Server.HTTP.TokensFile == "" {
		return "", usageError{errors.New("no file of tokens is known: set server.http.tokens_file in the configuration, " +
			"or name one with --file")}
	}
	return cfg.Server.HTTP.TokensFile, nil
}

// namedToken returns the name of a token that the command line gives, and the path of the file.
func namedToken(c *cli.Context) (name, path string, err error) {
	words, err := arguments(c, 1, 1)
	if err != nil {
		return "", "", err
	}
	path, err = tokensFile(c)
	return words[0], path, err
}

// reloadHint says how a running server learns of a change.
const reloadHint = "A server that runs takes it with SIGHUP (systemctl reload ptyctl, or kill -HUP PID)."

func addToken(c *cli.Context) error {
	name, path, err := namedToken(c)
	if err != nil {
		return err
	}
	expires, err := expiry(c.String("expires"), time.Now())
	if err != nil {
		return usageError{err}
	}
	value, err := tokenfile.Add(path, name, cmp.Or(c.String("role"), "write"), expires)
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	fmt.Fprintf(os.Stderr, "The token %s, which %s does not hold and nothing shows again:\n", name, tty.Printable(path))
	if _, err := fmt.Fprintln(c.App.Writer, value); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, reloadHint)
	return nil
}

// expiry reads when a token ends; "" is never.
func expiry(text string, now time.Time) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 36500 {
			return at, fmt.Errorf("--expires %q: give days as 1d to 36500d", text)
		}
		return now.AddDate(0, 0, n), nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		at = now.Add(d)
	} else if at, err = time.ParseInLocation(time.DateOnly, text, time.Local); err != nil {
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			return at, fmt.Errorf("--expires %q: give 90d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z", text)
		}
	}
	at = at.Truncate(time.Second) // as in the file
	if !at.After(now) {
		return at, fmt.Errorf("--expires %q is in the past", text)
	}
	return at, nil
}

// A listedToken is a token in JSON.
type listedToken struct {
	Name    string     `json:"name"`
	Role    string     `json:"role"`
	Hashed  bool       `json:"hashed"`
	Expires *time.Time `json:"expires,omitempty"`
	Expired bool       `json:"expired,omitempty"`
}

func listTokens(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	path, err := tokensFile(c)
	if err != nil {
		return err
	}
	tokens, err := tokenfile.List(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tokens: %w; `ptyctl tokens add NAME` makes it", err)
	}
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	list := []listedToken{}
	for _, t := range tokens {
		l := listedToken{Name: t.Name, Role: t.Role(), Hashed: t.Digest != nil}
		if !t.Expires.IsZero() {
			l.Expires, l.Expired = new(t.Expires.UTC()), !time.Now().Before(t.Expires)
		}
		list = append(list, l)
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, list)
	}
	rows := [][]string{{"NAME", "ROLE", "VALUE", "EXPIRES"}}
	for _, l := range list {
		rows = append(rows, []string{l.Name, l.Role, kept(l), ends(l)})
	}
	var b strings.Builder
	tty.Table(&b, rows, tty.TableWidth)
	_, err = fmt.Fprint(c.App.Writer, b.String())
	return err
}

// kept says how the file has the value of a token.
func kept(l listedToken) string {
	if l.Hashed {
		return "hashed"
	}
	return "in clear"
}

func ends(l listedToken) string {
	switch {
	case l.Expires == nil:
		return "never"
	case l.Expired:
		return l.Expires.Format(time.RFC3339) + " (over)"
	}
	return l.Expires.Format(time.RFC3339)
}

func revokeToken(c *cli.Context) error {
	name, path, err := namedToken(c)
	if err != nil {
		return err
	}
	if err := tokenfile.Revoke(path, name); err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s is no longer in %s. %s\n", name, tty.Printable(path), reloadHint)
	return err
}
