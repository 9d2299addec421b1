import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { limitCredentials } from '../../entities/apps/credential-owner.sql.ts'
import { ExtApp } from '../../entities/apps/ext-app.ts'
import { ExtAppCredential } from '../../entities/apps/ext-app-credential.ts'
import { hashSecret, mintSecret, writeToken } from '../../entities/identity/token-format.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runNamed } from '../core/run-named.ts'
import { resourceId } from '../resource/ids.ts'
import { lockRow } from '../verbs/lock.ts'
import { credentialEnd, extApps } from './ext-app.ts'

/** Gives an app a further credential. Its text leaves here once; what is kept cannot give it back. */
export async function addCredential(em: EntityManager, appId: number, end: string | null): Promise<string> {
  const secret = mintSecret()
  const app = em.getReference(ExtApp, appId)
  const credential = em.create(ExtAppCredential, {
    app,
    hash: hashSecret(secret),
    expiresAt: end === null ? null : new Date(end),
  })
  await em.flush()
  return writeToken({ id: credential.id, secret, kind: 'app' })
}

const MINUTE_MS = 60_000
const WEEK_MINUTES = 7 * 24 * 60

const overlapMinutes = z
  .int()
  .min(0)
  .max(WEEK_MINUTES)
  .default(60)
  .describe('How many minutes the credentials before still work; 0 where one has leaked.')

export const rotation = z.strictObject({ id: resourceId, overlapMinutes, expiresAt: credentialEnd.default(null) })

/** Gives an app another credential, and those that it has an end. */
export const rotateCredential = (ctx: Context, { id, overlapMinutes, expiresAt }: z.output<typeof rotation>) =>
  changing(ctx, async (em) => {
    await lockRow(ctx, em, extApps, { id, verb: 'update' })
    await runNamed(em, limitCredentials, [Number(id), new Date(Date.now() + overlapMinutes * MINUTE_MS)])
    return addCredential(em, Number(id), expiresAt)
  })
