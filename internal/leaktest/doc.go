// Package leaktest searches the outputs of the tested code for the secrets of the tests.
//
//	func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
//
//	func TestLogin(t *testing.T) {
//		password := leaktest.Secret(t, "right-password-1138")
//		log := leaktest.Log(t)                   // a logger; its text is an output
//		...
//		leaktest.Output(t, "error", err.Error()) // so is this
//	}
//
// After the tests of a package, Main searches every output for every secret, no matter which test
// registered them: for the secret itself, and for its encoded forms. If PTYCTL_TEST_TRAIL names a folder,
// Main leaves both there, and the command scripts/secrets searches the outputs of all packages for the
// secrets of all packages.
//
// An output is text from ptyctl: results, errors, logs, audit files, metrics, state files. Input is not an
// output: text that a test types or sends, or that its servers know. Where a remote host may show the typed
// text, for example as an echo, the text must not be registered: it lacks the Mark. A test about the echo of
// a secret should register the text only if no part of it may remain.
package leaktest
