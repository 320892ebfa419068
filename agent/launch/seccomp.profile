# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The system calls of a sandbox, compiled into the agent by compile-seccomp.c.
#
#   default ERRNO              for what is not named here
#   foreign ERRNO              for another architecture's calls (i386, x32), all of them
#   allow NAME...
#   refuse ERRNO NAME...
#   refuse ERRNO if TEST [and TEST...] : NAME...     else allowed; a second line adds to it
#       TEST is  argN & VALUE[|VALUE...]   some bit is set
#            or  argN is VALUE[|VALUE...]  equals one
#            or  argN not VALUE[|VALUE...] equals none
#            or  argN set                  is not 0 (a pointer, all of its bits)
#   late refuse ...            left out of the first of two filters that are this one together,
#                              which a launcher that stays has for all that it starts: what
#                              it needs itself, the second forbids, loaded in each sandbox
#   variant NAME               the lines after it change the lines before it, in a second filter
#
# NAME=NUMBER is for a call that is newer than the compiler's library. Arguments are
# compared by their lower 32 bits, which is what the kernel reads of each one tested
# here: set upper bits hide nothing. ENOSYS is what programs have a fallback for;
# EPERM says that a rule stands behind it.

default ENOSYS
foreign ENOSYS

# Files, memory, time, signals, processes: what ordinary programs are made of.
allow read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range
allow dup dup2 dup3 flock fsync fdatasync sync syncfs sync_file_range truncate ftruncate fallocate fadvise64
allow stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getcwd chdir fchdir getdents getdents64
allow rename renameat renameat2 link linkat unlink unlinkat symlink symlinkat rmdir umask utime utimes utimensat futimesat
allow chown fchown lchown fchownat statfs fstatfs
allow setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr
allow setxattrat=463 getxattrat=464 listxattrat=465 removexattrat=466
allow sendfile splice tee vmsplice copy_file_range readahead pipe pipe2
allow select pselect6 poll ppoll epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
allow eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime
allow inotify_init inotify_init1 inotify_add_watch inotify_rm_watch
allow mmap mprotect munmap brk mremap msync mincore madvise process_madvise mlock mlock2 munlock mlockall munlockall
allow pkey_mprotect pkey_alloc pkey_free memfd_create memfd_secret membarrier mseal=462 map_shadow_stack=453
allow mbind get_mempolicy set_mempolicy set_mempolicy_home_node cachestat=451 remap_file_pages
allow shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
allow mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
allow rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo rt_sigsuspend sigaltstack
allow kill tkill tgkill pidfd_open pidfd_send_signal pidfd_getfd pause alarm
allow nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times
allow getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete adjtimex clock_adjtime
allow futex set_robust_list get_robust_list futex_waitv futex_wake=454 futex_wait=455 futex_requeue=456 rseq restart_syscall
allow fork vfork execve execveat exit exit_group wait4 waitid set_tid_address arch_prctl prctl
allow getpid gettid getppid getpgid setpgid getpgrp getsid setsid
allow getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid
allow capget capset getrlimit getrusage getpriority ioprio_get
allow sched_yield sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
allow sched_rr_get_interval sched_getaffinity sched_getattr
allow uname sysinfo getcpu getrandom sysfs ustat
allow bind connect listen accept accept4 getsockname getpeername shutdown getsockopt setsockopt
allow sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg

# Debuggers and sanitizers; whom they reach is a matter of the pid namespace and of
# Landlock. A sandbox inside the sandbox may filter itself further.
allow ptrace process_vm_readv process_vm_writev kcmp seccomp
allow landlock_create_ruleset landlock_add_rule landlock_restrict_self

# Sockets of four families and of no other: a network namespace does not hold
# AF_VSOCK, and the rest is attack surface.
refuse EAFNOSUPPORT if arg0 not AF_UNIX|AF_INET|AF_INET6|AF_NETLINK : socket
refuse EAFNOSUPPORT if arg0 not AF_UNIX : socketpair
# Protocol 15 tells of the machine's devices wherever the network namespace belongs to
# the first user namespace, as a container's does.
refuse EAFNOSUPPORT if arg0 is AF_NETLINK and arg2 is 15 : socket

# What would open a socket, or a file with a set-id mode, past these rules.
refuse ENOSYS io_uring_setup io_uring_enter io_uring_register clone3
late refuse ENOSYS openat2

# A lease or a delegation on a file that the host shows makes the host wait for the kernel's
# patience, 45 seconds, whenever it opens that file; the second is newer than most kernels.
refuse EPERM if arg1 is F_SETLEASE|F_SETDELEG : fcntl

# The machine has one quota of these, which nothing divides; databases fall back.
refuse ENOSYS io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents

# Namespaces of one's own give capabilities over much of the kernel.
late refuse EPERM if arg0 & CLONE_NAMESPACES : clone unshare
late refuse EPERM setns

# Typing into the terminal that the caller uses, and drivers for serial lines.
refuse EPERM if arg1 is TIOCSTI|TIOCLINUX|TIOCSETD : ioctl

# A set-id file in a folder that the host shares would be its owner's on the host.
# Modes of mkdir and mknod are checked too, where only some file systems look.
refuse EPERM if arg1 & S_ISUID|S_ISGID : chmod fchmod creat mkdir mknod
refuse EPERM if arg2 & S_ISUID|S_ISGID : fchmodat fchmodat2=452 mkdirat mknodat
refuse EPERM if arg1 & O_CREAT|O_TMPFILE and arg2 & S_ISUID|S_ISGID : open
refuse EPERM if arg2 & O_CREAT|O_TMPFILE and arg3 & S_ISUID|S_ISGID : openat

# The agent has the commands' own id: it is not to be starved. It is pid 1, where its
# shims are is not known; nobody needs to set another process's limits.
refuse EPERM if arg0 set and arg2 set : prlimit64
refuse EPERM if arg1 is 1 : setpriority ioprio_set
refuse EPERM if arg0 is PRIO_USER : setpriority
refuse EPERM if arg0 is IOPRIO_WHO_USER : ioprio_set
refuse EPERM if arg0 is 1 : sched_setparam sched_setscheduler sched_setaffinity sched_setattr

# The limit on core files holds a core pattern back that is a program of the host;
# it stays as it is, and those who want none have that.
refuse SUCCESS if arg0 is RLIMIT_CORE : setrlimit
refuse SUCCESS if arg1 is RLIMIT_CORE and arg2 set : prlimit64

# Execution domains: the ordinary one, its 32-bit name, no address randomisation.
refuse EPERM if arg0 not 0x0|0x8|0x20000|0x20008|0x40000|0xffffffff : personality

# Keys are not separated by namespaces in every kernel.
refuse EPERM keyctl add_key request_key

# Everything that only an administrator of the machine needs.
late refuse EPERM mount umount2 pivot_root fsopen fsconfig fsmount open_tree move_mount mount_setattr sethostname
refuse EPERM chroot fspick statmount=457 listmount=458 open_tree_attr=467 swapon swapoff quotactl quotactl_fd
refuse EPERM bpf perf_event_open userfaultfd fanotify_init fanotify_mark open_by_handle_at name_to_handle_at
refuse EPERM init_module finit_module delete_module kexec_load kexec_file_load reboot syslog acct vhangup
refuse EPERM settimeofday clock_settime setdomainname iopl ioperm
refuse EPERM migrate_pages move_pages process_mrelease lookup_dcookie

# Where any program may be behind a socket in the host's tree: no new sockets of
# that family. Connected pairs of streams stay; a pair of datagrams could be
# connected again.
variant no-unix
refuse EAFNOSUPPORT if arg0 not AF_INET|AF_INET6|AF_NETLINK : socket
refuse EPERM if arg1 not SOCK_STREAM|SOCK_STREAM_CLOEXEC|SOCK_STREAM_NONBLOCK|SOCK_STREAM_BOTH : socketpair
