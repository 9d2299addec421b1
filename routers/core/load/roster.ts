/**
 * Members that come and go with every request, in no order. A set of them would be built anew all the time: the engine links
 * each old table to the next, so that one which grows old keeps all later members from being collected early.
 */
export class Roster<Member> implements Iterable<Member> {
  readonly #members: Member[] = []

  add(member: Member): void {
    this.#members.push(member)
  }

  has(member: Member): boolean {
    return this.#members.includes(member)
  }

  delete(member: Member): void {
    const place = this.#members.indexOf(member)
    if (place < 0) return
    const last = this.#members.pop() as Member
    if (place < this.#members.length) this.#members[place] = last
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.#members[Symbol.iterator]()
  }
}
