// Package operator has the commands of ptyctl-cluster for the person who runs a cluster: status, drain and anchors. They
// reach the servers of the configuration, and no node of it.
package operator
