//go:build linux && long

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestBuiltImage builds the image with buildah, which needs no daemon, and runs its program as the image says. Two
// processes in one container share the control socket and the locks of devices.
func TestBuiltImage(t *testing.T) {
	device, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	go func() {
		for {
			c, err := device.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "switch> ") // it stays open until the client closes it
		}
	}()
	c := buildImage(t)
	open := fmt.Sprintf(`{"action":"open","protocol":"telnet","host":"127.0.0.1","port":%d,"session_type":"console",`+
		`"device_id":"switch-001"}`, device.Addr().(*net.TCPAddr).Port)

	first := c.serve(t)
	if got := first.call(t, open); !strings.Contains(got, "switch-001-") || strings.Contains(got, `"isError":true`) {
		t.Fatalf("open: %s", got)
	}
	if got := string(c.buildah(t, "run", c.name, "--", c.program, "sessions")); !strings.Contains(got, "switch-001-") {
		t.Errorf("sessions, which asks the control socket, prints\n%s\nwant the session", got)
	}
	second := c.serve(t)
	if got := second.call(t, open); !strings.Contains(got, "LOCKED") || !strings.Contains(got, "is open in a ptyctl") {
		t.Errorf("open of the same device by another process: %s, want LOCKED with its owner", got)
	}
	first.end(t)
	if got := second.call(t, open); !strings.Contains(got, "switch-001-") || strings.Contains(got, `"isError":true`) {
		t.Errorf("open of the device once its owner has ended: %s", got)
	}
	second.end(t)
}

// A container is one that buildah has made of the image.
type container struct {
	name, program string
	command       []string
	storage       string
}

// buildImage builds the image from the files that the Dockerfile takes, and makes a container of it.
func buildImage(t *testing.T) *container {
	t.Helper()
	module, context := filepath.Join("..", ".."), t.TempDir()
	if err := os.Mkdir(filepath.Join(context, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"build/ptyctl-linux-amd64": lab.PlainBinary}
	for _, name := range []string{"Dockerfile", ".dockerignore", "LICENSE", "NOTICE"} {
		files[name] = filepath.Join(module, name)
	}
	for name, from := range files {
		if err := os.WriteFile(filepath.Join(context, name), lab.ReadFile(t, from), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	makeFolders(t, filepath.Join(context, "build", "image-folders.tar"))
	c := &container{storage: t.TempDir()}
	image := strings.TrimSpace(string(c.buildah(t, "build", "--isolation", "chroot", "--quiet", context)))
	var about struct {
		OCIv1 struct {
			Config struct{ Entrypoint, Cmd []string } `json:"config"`
		}
	}
	if err := json.Unmarshal(c.buildah(t, "inspect", "--type", "image", image), &about); err != nil {
		t.Fatal(err)
	}
	c.command = slices.Concat(about.OCIv1.Config.Entrypoint, about.OCIv1.Config.Cmd)
	if len(c.command) == 0 {
		t.Fatal("the image starts nothing")
	}
	c.program = c.command[0]
	c.name = strings.TrimSpace(string(c.buildah(t, "from", image)))
	t.Cleanup(func() { c.buildah(t, "rm", "--all") })
	return c
}

// start returns buildah with its storage in a folder of the test. No container has a mount or a cgroup of the machine.
func (c *container) start(words ...string) *exec.Cmd {
	cmd := exec.Command("buildah", append([]string{
		"--storage-driver", "vfs", "--root", filepath.Join(c.storage, "root"), "--runroot", filepath.Join(c.storage, "run"),
	}, words...)...)
	cmd.Env = append(os.Environ(), "BUILDAH_ISOLATION=chroot")
	return cmd
}

// buildah returns the output of a command of buildah.
func (c *container) buildah(t *testing.T, words ...string) []byte {
	t.Helper()
	log := lab.NewCapture()
	cmd := c.start(words...)
	cmd.Stderr = log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("buildah %q: %v\n%s%s", words, err, out, log)
	}
	return out
}

// A served is the image's command as an MCP client starts it.
type served struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	log   *lab.Capture
	calls int
}

// serve starts the image's command.
func (c *container) serve(t *testing.T) *served {
	t.Helper()
	s := &served{cmd: c.start(append([]string{"run", c.name, "--"}, c.command...)...), log: lab.NewCapture()}
	s.cmd.Stderr = s.log
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.in, s.lines = in, bufio.NewScanner(out)
	s.ask(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"integration","version":"1"}}`)
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n") // the next answer shows a failure
	return s
}

// call calls ptyctl_session and returns the answer.
func (s *served) call(t *testing.T, arguments string) string {
	t.Helper()
	return s.ask(t, "tools/call", `{"name":"ptyctl_session","arguments":`+arguments+`}`)
}

// ask sends a request and returns the line that answers it.
func (s *served) ask(t *testing.T, method, params string) string {
	t.Helper()
	s.calls++
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.calls, method, params)
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		t.Fatalf("%s: %v\n%s", method, err, s.log)
	}
	for s.lines.Scan() {
		var a struct {
			ID *int `json:"id"`
		}
		if err := json.Unmarshal(s.lines.Bytes(), &a); err != nil {
			t.Fatalf("%s: %v\n%s", method, err, s.lines.Bytes())
		}
		if a.ID != nil && *a.ID == s.calls {
			return s.lines.Text()
		}
	}
	t.Fatalf("%s: no answer (%v)\n%s", method, s.lines.Err(), s.log)
	return ""
}

// end ends the client's side, and waits for the program.
func (s *served) end(t *testing.T) {
	t.Helper()
	_ = s.in.Close()
	for s.lines.Scan() { // to its end, before Wait closes it
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the program in the image: %v\n%s", err, s.log)
	}
}
