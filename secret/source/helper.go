package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"ptyctl/internal/locked"
)

// git is git-credential:, the dialogue of git-credential(1): lines of key=value, and an empty line at the end.
type git struct {
	*program
	input []byte
}

func newGit(rest string, o Options) (Source, error) {
	helper, place := "/usr/bin/git credential fill", rest
	if before, after, ok := strings.Cut(rest, " "); ok {
		helper, place = before+" get", after
	}
	u, err := url.Parse(strings.TrimSpace(place))
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil, errors.New("needs a URL, such as https://alice@git.example.net, with a helper's absolute path before it or not")
	}
	p, err := newProgram(helper, o)
	if err != nil {
		return nil, err
	}
	p.env = append(p.env, "GIT_TERMINAL_PROMPT=0")
	lines := []string{"protocol=" + u.Scheme, "host=" + u.Host}
	if path := strings.Trim(u.Path, "/"); path != "" {
		lines = append(lines, "path="+path)
	}
	if name := u.User.Username(); name != "" {
		lines = append(lines, "username="+name)
	}
	input := strings.Join(lines, "\n") + "\n\n"
	if strings.ContainsAny(strings.Join(lines, ""), "\n\r\x00") {
		return nil, errors.New("the URL holds a line end")
	}
	return git{p, []byte(input)}, nil
}

func (g git) Fetch(ctx context.Context) ([]byte, error) {
	out, err := g.run(ctx, g.input)
	if err != nil {
		return nil, err
	}
	defer clear(out)
	for line := range bytes.Lines(out) {
		if value, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("password=")); ok && len(value) > 0 {
			return locked.Clone(value), nil
		}
	}
	return nil, fmt.Errorf("%s: it has no password for that URL", g.argv[0])
}

// docker is docker-credential:, the dialogue of github.com/docker/docker-credential-helpers.
type docker struct {
	*program
	server string
}

func newDocker(rest string, o Options) (Source, error) {
	helper, server, _ := strings.Cut(rest, " ")
	if server = strings.TrimSpace(server); server == "" || strings.ContainsAny(server, "\n\r") {
		return nil, errors.New("needs the absolute path of a helper and the URL of a server")
	}
	p, err := newProgram(helper+" get", o)
	return docker{p, server}, err
}

func (d docker) Fetch(ctx context.Context) ([]byte, error) {
	out, err := d.run(ctx, []byte(d.server+"\n"))
	if err != nil {
		return nil, err
	}
	defer clear(out)
	var answer struct{ Secret string }
	if err := json.Unmarshal(out, &answer); err != nil || answer.Secret == "" {
		return nil, fmt.Errorf("%s: its answer has no Secret", d.argv[0]) // err could quote the answer
	}
	return locked.Clone([]byte(answer.Secret)), nil
}
