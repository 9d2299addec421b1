import type { Caller } from './caller.ts'
import type { HookRegistry, ResponseHints } from './hooks.ts'

/** Holds the caller of one request. Each change of user type is announced at once. */
export class CallerContext {
  #caller: Caller = { type: 'guest' }
  readonly #hooks: HookRegistry
  readonly #hints: ResponseHints

  constructor(hooks: HookRegistry, hints: ResponseHints) {
    this.#hooks = hooks
    this.#hints = hints
  }

  get current(): Caller {
    return this.#caller
  }

  become(to: Caller): void {
    const from = this.#caller
    this.#caller = to
    const userId = [to, from].find((caller) => caller.type === 'user')?.person.id
    if (from.type === to.type) return
    this.#hooks.emit('user-type-changed', { from: from.type, to: to.type, userId, hints: this.#hints })
  }
}
