import { expect } from 'vitest'
import type { z } from 'zod'
import { abilities } from '../../../entities/identity/access-token.ts'
import { readBodyLimits } from '../../../facades/http/body-limits.ts'
import { findProcedure, getBodyLimit } from '../../../facades/http/procedures.ts'
import { startApp } from '../app.ts'
import { signIn, type TestBrowser } from '../browser.ts'
import { definitionOf, schemas, walkSchema } from './schemas.ts'

type Runnable = { _zod: { run: (...args: never[]) => unknown } }

/** Counts the elements of lists and the members of records that schemas of inputs judge from now on. */
function countValidations() {
  let judged = 0
  const parts = schemas.flatMap(({ schema }) =>
    [...walkSchema(schema)].flatMap(({ schema }) => {
      const { element, valueType } = definitionOf(schema)
      return [element, valueType].flatMap((part): z.ZodType[] => (part ? [part] : []))
    }),
  )
  for (const part of new Set(parts) as unknown as Set<Runnable>) {
    const { run } = part._zod
    part._zod.run = (...args) => {
      judged++
      return run(...args)
    }
  }
  return {
    /** Returns the count since the last call. */
    take() {
      const total = judged
      judged = 0
      return total
    },
  }
}

const MAX_ANSWER = 64 * 1024
/** The maximum for all shapes of one input together: nearly full lists and the members beside them. */
const MAX_JUDGED = 5000

interface Answer {
  status: number
  text: string
}

/** Starts the service with an administrator in a browser, and with a token for everything. */
export async function startAttackTarget(settings: Record<string, string> = {}) {
  const svc = await startApp(settings)
  const { browser } = await signIn(svc, 'ada')
  await svc.host.admin.setRole({ user: { username: 'ada' }, role: 'admin' })
  await browser.login('ada')
  const tokenOptions = { user: { username: 'ada' }, name: 'all', abilities: [...abilities] }
  const { token } = await svc.host.tokens.createFor(tokenOptions)
  const judged = countValidations()

  const asGuest: TestBrowser['send'] = async (method, path, { body } = {}) => {
    const answer = await svc.send(method, path, body === undefined ? {} : { body })
    return { status: answer.status, headers: answer.headers, text: await answer.text(), body: {} }
  }

  return {
    ...svc,
    browser,
    token,
    judged,
    asGuest,
    /** Bytes of a body for a procedure. */
    limitOf: (name: string) => getBodyLimit(findProcedure(name), readBodyLimits(svc.env)),
    /** Checks the response and the number of validated elements. */
    assertModest({ status, text }: Answer, what: string): void {
      expect([200, 400, 401, 403, 404, 409, 415, 422, 431], `${what}: ${text.slice(0, 200)}`).toContain(status)
      if (status >= 400) expect(text.length, `${what}: length of the answer`).toBeLessThanOrEqual(MAX_ANSWER)
      expect(judged.take(), `${what}: elements that were judged`).toBeLessThanOrEqual(MAX_JUDGED)
    },
  }
}
