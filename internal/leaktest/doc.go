// Package leaktest finds the secrets of tests in what the tested code puts out.
//
//	func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
//
//	func TestLogin(t *testing.T) {
//		password := leaktest.Secret(t, "right-password-1138")
//		log := leaktest.Log(t)                   // a logger whose text is an output
//		...
//		leaktest.Output(t, "error", err.Error()) // so is this
//	}
//
// When the tests of a package are over, Main looks for every secret in every output, whichever test it came from: as it
// is, and in the forms in which it would hide. With PTYCTL_TEST_TRAIL naming a folder, it leaves both there, and the
// command scripts/secrets looks for the secrets of all packages in the outputs of all packages.
//
// An output is what ptyctl tells: results, errors, logs, audit files, metrics, files of state. What goes the other way is
// none: what a test types, sends, or has its servers know. Where a remote host rightly shows what was typed, as an echo,
// the text is no secret to the test either, and is not registered: it lacks the Mark. A test that asserts what becomes of
// the echo of a secret registers what it types only if nothing of it may be left.
package leaktest
