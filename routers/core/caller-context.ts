import type { Caller } from './caller.ts'
import type { HookRegistry, ResponseHints, TypeChangeCause } from './hooks.ts'

/** Holds the caller of one request. Each change of user type is announced at once. */
export class CallerContext {
  #caller: Caller
  readonly #hooks: HookRegistry
  readonly #hints: ResponseHints

  constructor(hooks: HookRegistry, hints: ResponseHints, caller: Caller = { type: 'guest' }) {
    this.#hooks = hooks
    this.#hints = hints
    this.#caller = caller
  }

  get current(): Caller {
    return this.#caller
  }

  become(to: Caller, cause: TypeChangeCause): void {
    const from = this.#caller
    this.#caller = to
    const userId = [to, from].find((caller) => caller.type === 'user')?.person.id
    if (from.type === to.type) return
    this.#hooks.emit('user-type-changed', { cause, from: from.type, to: to.type, userId, hints: this.#hints })
  }
}
