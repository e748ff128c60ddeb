// Package inventory reads the hosts and groups of files that other programs own: Ansible inventories in INI and
// YAML, and genders(5).
//
//	inv, err := inventory.Read("/etc/ansible/hosts")
//	for _, h := range inv.Hosts {
//		fmt.Println(h.Name, h.Address, h.User, h.Port)
//	}
//
// Of variables, ansible_host, ansible_user and ansible_port have an effect, of hosts and of groups, in the order of
// precedence of Ansible; and their older names with ansible_ssh_. JSON as an inventory program prints it is read, too.
//
// Promises:
//   - No program is started and no plugin is loaded. An executable file, a script and the configuration of a dynamic
//     plugin are errors.
//   - A host with an address, user or port that is encrypted or a template has a Problem. Nothing is guessed.
//   - Other content of a file is counted in Ignored. No value of it is in an error, because it may be a secret.
//   - The size of a file, its hosts, its groups and the aliases of YAML are bounded.
package inventory
