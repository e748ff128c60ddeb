// Command secrets searches the output of all tests for the secrets of the tests:
//
//	go run ./scripts/secrets FOLDER
//
// FOLDER must be the value of PTYCTL_TEST_TRAIL during the tests (see package leaktest).
// The files *.output in it, for example the output of go test, are searched, too. The
// exit status is 0 if no secret was found.
package main
