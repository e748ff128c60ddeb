// Package policy tests the policy and the audit log.
//
// The red team tries each way to run, open or read something that the policy denies. Further tests check the plan of
// hosts, the lock of an attached person, and the audit log. Package lab starts the servers and clients.
package policy
