import type { ProcedureMeta } from '../core/trpc.ts'
import type { Resource } from '../resource/declare.ts'
import { exposeAs } from '../resource/exposure.ts'

/** A base procedure: it says who may call, and what it is tagged with. */
interface Tagged<B> {
  meta(meta: ProcedureMeta): B
}

/** Begins a custom action of a type: `POST`, or `GET` for a query, below `/{type}/actions/{name}`. */
export const action = <B extends Tagged<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name }))

/** The same for one that returns a row which it created. */
export const creation = <B extends Tagged<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name, creates: true }))

/** Begins a custom action of one row, whose input has its `id`. */
export const rowAction = <B extends Tagged<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name, ofOne: true }))

/** Begins what ends that which a custom action of one row reads: `DELETE` at the same address. */
export const rowActionEnd = <B extends Tagged<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name, ofOne: true, ends: true }))

/** Begins a custom action of a single resource that has a name in place of an id. */
export const memberAction = <B extends Tagged<B>>(of: Resource, member: string, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name, member }))

/** Begins a read of a single resource that has a name in place of an id, such as `me`. */
export const member = <B extends Tagged<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { member: name }))
