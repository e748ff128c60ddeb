package hostkeys_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"ptyctl/sshx/hostkeys"
)

// The key a server showed, and what came of it.
func ExampleVerifier_Verify() {
	dir, err := os.MkdirTemp("", "hostkeys")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	recorded := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
	shown, _, _, _, err := ssh.ParseAuthorizedKey([]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGqyXk1nbGVkZ2VyLWtleS1mb3ItdGVzdHMtMDAx"))
	if err != nil {
		panic(err)
	}
	file := filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(file, []byte("web1.example.org "+recorded+"\n"), 0o600); err != nil {
		panic(err)
	}

	v, err := hostkeys.NewVerifier("web1.example.org", 22, nil, hostkeys.Options{UserFiles: []string{file}})
	if err != nil {
		panic(err)
	}
	err = v.Verify(context.Background(), shown)
	var mismatch *hostkeys.MismatchError
	if errors.As(err, &mismatch) {
		fmt.Println("not the key on record in line", mismatch.Recorded[0].Line)
	}
	// Output: not the key on record in line 1
}
