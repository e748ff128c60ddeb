// Command secrets looks for the secrets of the tests in the output of all tests:
//
//	go run ./scripts/secrets FOLDER
//
// FOLDER is the one that PTYCTL_TEST_TRAIL named while the tests ran (see package leaktest). The files *.output in it,
// such as the output of go test, are searched too. The exit status is 0 if no secret was found.
package main
