//go:build linux

package cli

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptyctl/internal/lab"
)

// TestImage makes, without a container engine, the file system that the Dockerfile describes, checks that its one
// program needs nothing else, and runs it there: as the image's user, with its environment and command.
func TestImage(t *testing.T) {
	t.Parallel()
	image := readDockerfile(t)
	if image.from != "scratch" || image.user != "65532:65532" {
		t.Errorf(
			"the image is made from %q, for user %q; want scratch, and a number that is not root's",
			image.from,
			image.user,
		)
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	taskfile := string(lab.ReadFile(t, filepath.Join("..", "..", "Taskfile.yml")))
	for source, target := range image.copied {
		if source == "LICENSE NOTICE" { // for readers who have the image alone
			continue
		}
		if source != "build/ptyctl-linux-amd64" || !strings.Contains(taskfile, "for: [linux/amd64, linux/arm64,") {
			t.Errorf("the image takes %s, which task cross does not make", source)
		}
		if err := os.WriteFile(filepath.Join(root, target), lab.ReadFile(t, lab.PlainBinary), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	folders := filepath.Join(t.TempDir(), "folders.tar")
	makeFolders(t, folders)
	if image.added != "build/image-folders.tar" {
		t.Errorf("the image adds %q, which task cross does not make", image.added)
	}
	// As root, the files get the owners that they have in the image.
	if out, err := exec.Command("tar", "-C", root, "-xpf", folders).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	if len(image.entrypoint) != 1 || len(image.command) == 0 {
		t.Fatalf("the image starts %v with %v", image.entrypoint, image.command)
	}
	program := filepath.Join(root, image.entrypoint[0])
	checkStatic(t, program)

	cmd := exec.Command(image.entrypoint[0], image.command...)
	cmd.Path, cmd.Dir, cmd.Env = image.entrypoint[0], "/", image.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if os.Getuid() != 0 { // then it is root of a user namespace of its own
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Chroot: root, Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
	log := lab.NewCapture()
	cmd.Stderr = log
	cmd.Stdin = strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"integration","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ptyctl_session","arguments":{"action":"open","protocol":"ssh","host":"127.0.0.1","port":1,"username":"nobody"}}}` + "\n",
	)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the program in the image: %v\n%s", err, log)
	}
	lab.CheckJSONRPC(t, string(out))
	if !strings.Contains(string(out), `"serverInfo"`) || !strings.Contains(string(out), "CONNECT_FAILED") {
		t.Errorf("got\n%s\nwant the answers to initialize and open\n%s", out, log)
	}
	if !strings.Contains(log.String(), "/run/ptyctl/ptyctl/") {
		t.Errorf("the log names no control socket in the runtime folder:\n%s", log)
	}
}

// makeFolders makes the file of folders that the Dockerfile adds.
func makeFolders(t *testing.T, path string) {
	t.Helper()
	if out, err := exec.Command(filepath.Join("..", "..", "scripts", "image-folders"), path).CombinedOutput(); err != nil {
		t.Fatalf("scripts/image-folders: %v\n%s", err, out)
	}
}

// checkStatic checks that a program asks for no interpreter and no library.
func checkStatic(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil || len(libraries) > 0 {
		t.Errorf("%s needs %v (%v)", path, libraries, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s needs an interpreter", path)
		}
	}
}

// A dockerfile is an image as its Dockerfile describes it.
type dockerfile struct {
	from, user          string
	copied              map[string]string // paths in the image, by those in the module
	added               string            // the tar file in the module that is unpacked at the root
	env                 []string
	entrypoint, command []string
}

// readDockerfile reads the few instructions that an image of one program needs, and knows no others.
func readDockerfile(t *testing.T) dockerfile {
	t.Helper()
	image := dockerfile{copied: make(map[string]string)}
	arguments := make(map[string]string)
	for line := range strings.Lines(string(lab.ReadFile(t, filepath.Join("..", "..", "Dockerfile")))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = os.Expand(strings.TrimSpace(line), func(name string) string { return arguments[name] })
		instruction, rest, _ := strings.Cut(line, " ")
		name, value, _ := strings.Cut(rest, "=")
		switch instruction {
		case "", "EXPOSE":
		case "FROM":
			image.from = rest
		case "ARG":
			arguments[name] = value
		case "ENV":
			image.env = append(image.env, rest)
		case "USER":
			image.user = rest
		case "COPY":
			last := strings.LastIndexByte(rest, ' ')
			if last < 0 {
				t.Fatalf("Dockerfile: %s", line)
			}
			image.copied[rest[:last]] = rest[last+1:]
		case "ADD":
			added, ok := strings.CutSuffix(rest, " /")
			if image.added = added; !ok {
				t.Errorf("Dockerfile: %s", line)
			}
		case "ENTRYPOINT":
			readWords(t, rest, &image.entrypoint)
		case "CMD":
			readWords(t, rest, &image.command)
		default:
			t.Errorf("Dockerfile: this test does not know %q", instruction)
		}
	}
	return image
}

// readWords reads the form of a command that needs no shell, which the image has not.
func readWords(t *testing.T, text string, words *[]string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), words); err != nil {
		t.Errorf("Dockerfile: %s: %v", text, err)
	}
}
