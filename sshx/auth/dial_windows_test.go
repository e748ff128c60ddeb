package auth

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/sys/windows"

	"ptyctl/sshx/sshconfig"
)

// servePipe serves an agent without keys at a named pipe, to one client.
func servePipe(t *testing.T, name string) {
	t.Helper()
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		t.Fatal(err)
	}
	self, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	rights, err := windows.SecurityDescriptorFromString(fmt.Sprintf("O:%sD:P(A;;FA;;;%[1]s)", self.User.Sid))
	if err != nil {
		t.Fatal(err)
	}
	h, err := windows.CreateNamedPipe(name16, windows.PIPE_ACCESS_DUPLEX, windows.PIPE_TYPE_BYTE, 1, 4096, 4096, 0,
		&windows.SecurityAttributes{Length: uint32(unsafe.Sizeof(windows.SecurityAttributes{})), SecurityDescriptor: rights})
	if err != nil {
		t.Fatalf("CreateNamedPipe(%s) = %v", name, err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := windows.ConnectNamedPipe(h, nil); err != nil && !errors.Is(err, windows.ERROR_PIPE_CONNECTED) {
			return
		}
		_ = agent.ServeAgent(agent.NewKeyring(), pipeEnd(h))
	}()
	t.Cleanup(func() {
		<-served
		_ = windows.CloseHandle(h)
	})
}

// A pipeEnd is the server's end of a pipe.
type pipeEnd windows.Handle

func (h pipeEnd) Read(p []byte) (int, error) {
	n, err := windows.Read(windows.Handle(h), p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

func (h pipeEnd) Write(p []byte) (int, error) { return windows.Write(windows.Handle(h), p) }

// list asks the agent at a socket for its keys.
func list(t *testing.T, socket string) error {
	t.Helper()
	conn, err := AgentAt{Socket: socket}.Dial(t.Context())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = agent.NewClient(conn).List()
	return err
}

// The service ssh-agent is asked, and Pageant where it does not run.
func TestDialWindows(t *testing.T) {
	if err := list(t, sshconfig.WindowsAgent); !errors.Is(err, ErrNoAgent) {
		t.Fatalf("without an agent: %v, want ErrNoAgent", err)
	}
	user, err := pageantUser()
	if err != nil || user == "" {
		t.Fatalf("pageantUser() = %q, %v", user, err)
	}
	servePipe(t, pageantPipe(user, protected))
	if err := list(t, sshconfig.WindowsAgent); err != nil {
		t.Errorf("Pageant alone: %v", err)
	}
	servePipe(t, sshconfig.WindowsAgent)
	if err := list(t, sshconfig.WindowsAgent); err != nil {
		t.Errorf("the service ssh-agent: %v", err)
	}
	servePipe(t, `\\.\pipe\another-agent`)
	if err := list(t, "//./pipe/another-agent"); err != nil {
		t.Errorf("another pipe: %v", err)
	}
	if err := list(t, `\\server\pipe\openssh-ssh-agent`); err == nil || !strings.Contains(err.Error(), "must be on this machine") {
		t.Errorf("a pipe of another machine = %v, want a refusal of its name", err)
	}
}
