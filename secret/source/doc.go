// Package source fetches the value of a secret from where its operator keeps it.
//
//	s, err := source.Parse("exec:/usr/bin/pass show web1/sudo", source.Options{Env: []string{"HOME", "GNUPGHOME"}})
//	value, err := s.Fetch(ctx)
//	defer clear(value)
//
// A source is a word, a colon and the rest:
//
//	exec:/abs/path args     the first line of a program's output
//	git-credential:URL      the password of `git credential fill`, or of a helper: git-credential:/abs/path URL
//	docker-credential:/abs/path URL
//	                        the Secret of a credential helper's answer to get
//	keyring:SERVICE/USER    the keyring of the desktop (Secret Service, Keychain, Credential Manager)
//	age:FILE                the first line of a file encrypted to an age identity of the operator
//	file:FILE               the first line of a file that no other user can read
//	systemd-credential:NAME the first line of a file in $CREDENTIALS_DIRECTORY, see systemd.exec(5)
//	env:NAME                an environment variable of this process
//	totp:SOURCE             a code of RFC 6238, of the key or the otpauth URI that SOURCE holds
//	person                  a person answers each time; Fetch fails with ErrPerson
//
// No value is kept. No error holds any part of a value or of a helper's output.
package source
