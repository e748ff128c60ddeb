package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"

	"ptyctl/internal/releases"
	"ptyctl/internal/sshsig"
)

// main ends on an interrupt: an agent may wait for a touch.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sums:", err)
		os.Exit(1)
	}
}

// run writes the sums of a folder, and signs them if there is a key.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("sums", flag.ContinueOnError)
	file := flags.String("key", "", "`FILE` of the key that signs; default none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 1 || flags.NArg() == 0 && *file == "" {
		return errors.New("pass the folder of the release; see go doc ./scripts/sums")
	}
	var k *key
	if *file != "" {
		var err error
		if k, err = open(ctx, *file, os.Getenv("SSH_AUTH_SOCK")); err != nil {
			return fmt.Errorf("-key %s: %w", *file, err)
		}
		defer k.close()
	}
	if flags.NArg() == 0 {
		_, err := k.sign([]byte("a try"))
		return err
	}
	return write(flags.Arg(0), k)
}

// write makes SHA256SUMS in a folder, and SHA256SUMS.sig if there is a key. An older signature is removed.
func write(folder string, k *key) error {
	signature := filepath.Join(folder, releases.SignatureFile)
	if err := os.Remove(signature); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sums, err := releases.SumFolder(folder)
	if err != nil {
		return err
	}
	if len(sums) == 0 {
		return fmt.Errorf("%s has no file", folder)
	}
	text := sums.Text()
	if err := os.WriteFile(filepath.Join(folder, releases.SumsFile), text, 0o644); err != nil || k == nil {
		return err
	}
	signed, err := k.sign(text)
	if err != nil {
		return err
	}
	return os.WriteFile(signature, signed, 0o644)
}

// sign returns the signature of the text of SHA256SUMS.
func (k *key) sign(text []byte) ([]byte, error) {
	return sshsig.Sign(rand.Reader, k.signer, releases.Namespace, text)
}
