/*
 * vfork(2) for a caller in C cannot be wrapped in C: the child would return through the wrapper's frame, which the
 * parent needs again.  This notes for the calling thread that it was called, and jumps to libc's own: no frame, no
 * return address of ours.  Child and parent both find the note (they share the memory); who is who, thread.c asks the
 * kernel, once.
 *
 * The first call looks libc's function up, before anything of it was done: the stack is as it was then.
 */
	.text
	.globl vfork
	.type vfork, %function
#if defined(__x86_64__)
vfork:
	.cfi_startproc
#if defined(__CET__) && __CET__ & 1
	endbr64
#endif
	movq shim_vforked@gottpoff(%rip), %rax
	movq $1, %fs:(%rax)
	movq $0, %fs:8(%rax)
	movq real_vfork(%rip), %rax
	testq %rax, %rax
	jz 1f
	jmp *%rax
1:	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	call real_resolve_vfork
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp *%rax
	.cfi_endproc
#elif defined(__aarch64__)
vfork:
	.cfi_startproc
	hint #34 /* bti c */
	mrs x9, tpidr_el0
	adrp x10, :gottprel:shim_vforked
	ldr x10, [x10, #:gottprel_lo12:shim_vforked]
	add x9, x9, x10
	mov x11, #1
	str x11, [x9]
	str xzr, [x9, #8]
	adrp x16, real_vfork
	ldr x16, [x16, #:lo12:real_vfork]
	cbz x16, 1f
	br x16
1:	stp x29, x30, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_offset x30, -8
	bl real_resolve_vfork
	mov x16, x0
	ldp x29, x30, [sp], #16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x30
	br x16
	.cfi_endproc
#endif
	.size vfork, . - vfork
	.section .note.GNU-stack, "", %progbits
