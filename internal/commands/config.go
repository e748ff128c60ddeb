package commands

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"ptyctl/internal/cli"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
)

// configFlags are the flags that decide about the configuration.
func configFlags() []cli.Flag {
	flags := []cli.Flag{configFlag()}
	for _, k := range config.Keys() {
		switch {
		case k.Flag.Name == "":
		case k.Flag.Value != "":
			flags = append(
				flags,
				&cli.BoolFlag{Name: k.Flag.Name, Usage: fmt.Sprintf("set %s to %s: %s", k.Path, k.Flag.Value, k.Doc)},
			)
		default:
			flags = append(flags, &cli.StringFlag{Name: k.Flag.Name, Usage: k.Doc + valuesOf(k)})
		}
	}
	for _, f := range config.BypassedFlags() {
		flags = append(flags, &cli.BoolFlag{Name: f.Name, Usage: "has no effect any more: see --results"})
	}
	return flags
}

// valuesOf returns the values that a flag may have, to follow its description; "" if they are not so few.
func valuesOf(k config.Key) string {
	if len(k.Values) == 0 {
		return ""
	}
	if k.Type == config.TypeStrings {
		return " One or more of " + strings.Join(k.Values, ", ") + "; separated by commas."
	}
	return " One of " + strings.Join(k.Values, ", ") + "; default " + strings.Trim(k.Default, `"`) + "."
}

func configFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "config",
		Usage: "configuration `FILE`; default $XDG_CONFIG_HOME/ptyctl/ptyctl.toml, or ~/.config/ptyctl/ptyctl.toml; " +
			"on Windows %APPDATA%\\ptyctl\\ptyctl.toml",
	}
}

// source says where the configuration comes from, given the flags of this call.
func source(c *cli.Context) config.Source {
	s := config.Source{Path: c.String("config"), Flags: make(map[string]string)}
	for _, k := range config.Keys() {
		switch {
		case k.Flag.Name == "" || !c.IsSet(k.Flag.Name):
		case k.Flag.Value == "":
			s.Flags[k.Path] = c.String(k.Flag.Name)
		case c.Bool(k.Flag.Name):
			s.Flags[k.Path] = k.Flag.Value
		}
	}
	for _, f := range config.BypassedFlags() {
		if c.IsSet(f.Name) {
			s.Flags[f.Value] = ""
		}
	}
	return s
}

// loadConfig reads the configuration; one that is wrong is a wrong call.
func loadConfig(c *cli.Context) (config.Config, []config.Warning, error) {
	return readConfig(source(c))
}

// fileConfig reads the configuration for a command without flags for its keys.
func fileConfig(c *cli.Context) (config.Config, error) {
	cfg, _, err := readConfig(config.Source{Path: c.String("config")})
	return cfg, err
}

func readConfig(from config.Source) (config.Config, []config.Warning, error) {
	cfg, warnings, err := config.Load(from)
	if err != nil {
		return cfg, warnings, usageError{fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	app.TakeVariables(cfg.Secret)
	return cfg, warnings, nil
}

func configCommand(p Program) *cli.Command {
	return group(&cli.Command{
		Name: "config", Usage: "look at the configuration",
		Subcommands: []*cli.Command{
			{
				Name: "check", Usage: "say all that is wrong with the configuration; status 2 if anything is",
				Flags: configFlags(),
				Action: func(c *cli.Context) error {
					if err := noArguments(c); err != nil {
						return err
					}
					return checkConfig(c, p)
				},
			},
			{
				Name: "show", Usage: "show every value and where it comes from; secrets are not shown",
				Flags: append(configFlags(),
					&cli.BoolFlag{Name: "changed", Usage: "leave out the keys that are not set"},
					&cli.BoolFlag{Name: "json", Usage: "print JSON"}),
				Action: func(c *cli.Context) error {
					if err := noArguments(c); err != nil {
						return err
					}
					cfg, _, err := loadConfig(c)
					if err != nil {
						return err
					}
					return showConfig(c.App.Writer, cfg.Settings(), c.Bool("changed"), c.Bool("json"))
				},
			},
			{
				Name: "example", Usage: "print a configuration file with every key, its default and its meaning",
				Action: func(c *cli.Context) error {
					if err := noArguments(c); err != nil {
						return err
					}
					_, err := io.WriteString(c.App.Writer, config.Example())
					return err
				},
			},
		},
	})
}

func checkConfig(c *cli.Context, p Program) error {
	cfg, warnings, err := loadConfig(c)
	for _, w := range warnings {
		fmt.Fprintf(c.App.Writer, "warning: %s\n", w)
	}
	if err != nil {
		return err
	}
	if err := app.Check(cfg); err != nil {
		return usageError{err}
	}
	if err := p.servable(cfg); err != nil {
		return err
	}
	for _, w := range app.HostWarnings(c.Context, cfg) {
		fmt.Fprintf(c.App.Writer, "warning: %s\n", tty.Plain(w))
	}
	_, err = fmt.Fprintf(c.App.Writer, "ok: %s\n", configFile(c.String("config")))
	return err
}

// configFile returns the path of the configuration file in use, or a text that says why there is no file.
func configFile(named string) string {
	if named != "" {
		return named
	}
	path := config.DefaultPath()
	if path == "" {
		return "no file: there is no home folder to look in"
	}
	if _, err := os.Stat(path); err != nil {
		return "no file: " + path + " does not exist"
	}
	return path
}

func showConfig(w io.Writer, settings []config.Setting, changedOnly, asJSON bool) error {
	shown := make([]config.Setting, 0, len(settings))
	for _, s := range settings {
		if !changedOnly || s.Origin != "default" {
			shown = append(shown, s)
		}
	}
	if asJSON {
		return printJSON(w, shown)
	}
	// TOML, so that a user can save the output as a configuration file.
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	current := ""
	for _, s := range shown {
		dot := strings.LastIndexByte(s.Key, '.')
		if table := s.Key[:dot]; table != current {
			if current != "" {
				fmt.Fprintln(columns)
			}
			fmt.Fprintln(columns, s.Header)
			current = table
		}
		fmt.Fprintf(columns, "%s = %s\t# %s\n", s.Key[dot+1:], s.Value, s.Origin)
	}
	return columns.Flush()
}
