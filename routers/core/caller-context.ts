import type { SeenCaller } from '../../entities/identity/token-owner.sql.ts'
import type { Caller } from './caller.ts'
import type { HookRegistry, ResponseHints, TypeChangeCause } from './hooks.ts'

/** The caller of a read is another one than was seen. What was read is to be read again, once the caller is confirmed. */
export class CallerChanged extends Error {
  override name = 'CallerChanged'
}

/** Looks up a caller who was seen lately; throws where they are not let in any more. */
export type LookUpCaller = () => Promise<Caller>

/** Holds the caller of one request. Each change of user type is announced at once. */
export class CallerContext {
  #caller: Caller
  readonly #hooks: HookRegistry
  readonly #hints: ResponseHints
  #lookUp: LookUpCaller | undefined
  #lookingUp: Promise<Caller> | undefined

  constructor(
    hooks: HookRegistry,
    hints: ResponseHints,
    { caller = { type: 'guest' }, lookUp }: { caller?: Caller | undefined; lookUp?: LookUpCaller | undefined } = {},
  ) {
    this.#hooks = hooks
    this.#hints = hints
    this.#caller = caller
    this.#lookUp = lookUp
  }

  get current(): Caller {
    return this.#caller
  }

  /** Has the database confirm a caller who was seen lately, where it did not yet; throws where they are not let in any more. */
  async confirm(): Promise<void> {
    if (!this.#lookUp) return
    this.#lookingUp ??= this.#lookUp()
    this.#caller = await this.#lookingUp
    this.noteConfirmed()
  }

  /** Who was seen lately by a token, where the database has not confirmed it. */
  get unconfirmed(): SeenCaller | undefined {
    const token = this.#lookUp && this.#caller.type === 'user' ? this.#caller.token : undefined
    return token?.ownerVersion === undefined ? undefined : { tokenId: token.id, ownerVersion: token.ownerVersion }
  }

  noteConfirmed(): void {
    this.#lookUp = undefined
  }

  become(to: Caller, cause: TypeChangeCause): void {
    const from = this.#caller
    this.#caller = to
    const userId = [to, from].find((caller) => caller.type === 'user')?.person.id
    if (from.type === to.type) return
    this.#hooks.emit('user-type-changed', { cause, from: from.type, to: to.type, userId, hints: this.#hints })
  }
}
