#pragma once
// Namespaces of a process's own, for the sandboxes of the worker processes.

namespace kc {

// Enters new ones of these kinds (CLONE_NEW...), without root inside a user namespace in which this user keeps its
// number: what is open to the user stays open. To be called before a second thread starts. False where the machine
// refuses.
bool enter_own_namespaces(int kinds);

}  // namespace kc
