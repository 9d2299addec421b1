import type { ProcedureMeta } from '../core/trpc.ts'
import type { Resource } from '../resource/declare.ts'
import { exposeAs } from '../resource/exposure.ts'

/** A base procedure, which can be tagged with metadata. */
interface TaggableProcedure<B> {
  meta(meta: ProcedureMeta): B
}

/** Tags a custom action of a type: `POST`, or `GET` for a query, below `/{type}/actions/{name}`. */
export const action = <B extends TaggableProcedure<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name }))

/** Tags a custom action that creates a row and returns it. */
export const creation = <B extends TaggableProcedure<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name, creates: true }))

/** Tags a custom action of one row, whose input has its `id`. */
export const rowAction = <B extends TaggableProcedure<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name, ofOne: true }))

/** Tags the procedure that ends the result of a row's custom action: `DELETE` at the same address. */
export const rowActionEnd = <B extends TaggableProcedure<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name, ofOne: true, ends: true }))

/** Tags a custom action of a single resource that has a name in place of an id. */
export const memberAction = <B extends TaggableProcedure<B>>(of: Resource, member: string, name: string, base: B): B =>
  base.meta(exposeAs(of, { action: name, member }))

/** Tags a read of a single resource that has a name in place of an id, such as `me`. */
export const member = <B extends TaggableProcedure<B>>(of: Resource, name: string, base: B): B =>
  base.meta(exposeAs(of, { member: name }))
