package commands

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"ptyctl/internal/cli"

	"ptyctl/internal/client"
	"ptyctl/quote"
)

// maxCall bounds the arguments that are read from stdin.
const maxCall = 8 << 20

func callCommand() *cli.Command {
	return &cli.Command{
		Name: "call",
		Usage: "call a tool of a running ptyctl as an agent does, and print its result; " +
			"status 1 if the call failed",
		ArgsUsage: "TOOL JSON",
		Description: "JSON is the tool's arguments, or - to read them from stdin: stdin is in no list of processes.\n" +
			"ptyctl call ptyctl_session '{\"action\":\"list\"}'",
		Flags:  reachFlags(),
		Action: runCall,
	}
}

func runCall(c *cli.Context) error {
	args := c.Args()
	if len(args) == 1 && !isFlag(args[0]) {
		return usageError{fmt.Errorf("the arguments of the tool are missing, a JSON object: "+
			"ptyctl call %s '{\"action\":\"list\"}', or - to read them from stdin", quote.Show(args))}
	}
	if len(args) != 2 || args[1] != "-" {
		var err error
		if args, err = arguments(c, 2, 2); err != nil {
			return err
		}
	}
	tool, text := args[0], []byte(args[1])
	if args[1] == "-" {
		var err error
		if text, err = io.ReadAll(io.LimitReader(os.Stdin, maxCall)); err != nil {
			return err
		}
	}
	var about struct {
		SessionID string `json:"session_id"`
		ID        string `json:"id"` // the same in some sets of tools
	}
	if err := json.Unmarshal(text, &about); err != nil || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return usageError{errors.New("the arguments of a tool are a JSON object, such as '{\"action\":\"list\"}'")}
	}
	all, err := reach(c)
	if err != nil {
		return err
	}
	defer all.Close()
	p, err := having(c.Context, all, cmp.Or(about.SessionID, about.ID))
	if err != nil {
		return err
	}
	result, failed, err := p.Raw(c.Context, tool, json.RawMessage(text))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(c.App.Writer, string(result)); err != nil {
		return err
	}
	if failed {
		return errors.New("the call failed: the result says why")
	}
	return nil
}

// having returns the process that has the session; the only one, if none is named.
func having(ctx context.Context, all client.Processes, id string) (*client.Process, error) {
	if id != "" && len(all) > 1 {
		if s, err := all.Find(ctx, id); err == nil && strings.EqualFold(s.SessionID, id) {
			return s.Process, nil
		}
	}
	return all.One("")
}
