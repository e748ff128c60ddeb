// Package job holds a Windows program and all processes that it starts in a job object, so that they end together. On
// other systems it is empty.
//
//	j, err := job.New()
//	err = j.Begin(process, pid) // of a process that was created suspended
//	j.End()
package job
