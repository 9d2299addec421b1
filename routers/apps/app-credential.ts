import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { limitCredentials } from '../../entities/apps/credential-owner.sql.ts'
import { ExtApp } from '../../entities/apps/ext-app.ts'
import { ExtAppCredential } from '../../entities/apps/ext-app-credential.ts'
import { hashSecret, mintSecret, writeToken } from '../../entities/identity/token-format.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runNamed } from '../core/run-named.ts'
import { lockRow } from '../verbs/lock.ts'
import { extApps } from './ext-app.ts'

/** Gives an app a further credential. Its text leaves here once; what is kept cannot give it back. */
export async function addCredential(em: EntityManager, appId: number, expiresAt: Date | null): Promise<string> {
  const secret = mintSecret()
  const app = em.getReference(ExtApp, appId)
  const credential = em.create(ExtAppCredential, { app, hash: hashSecret(secret), expiresAt })
  await em.flush()
  return writeToken({ id: credential.id, secret, kind: 'app' })
}

const MINUTE_MS = 60_000
const WEEK_MINUTES = 7 * 24 * 60

export const overlapMinutes = z
  .int()
  .min(0)
  .max(WEEK_MINUTES)
  .default(60)
  .describe('How many minutes the credentials before still work; 0 where one has leaked.')

/** Gives an app another credential, and those that it has an end. */
export const rotateCredential = (ctx: Context, id: string, overlap: number): Promise<string> =>
  changing(ctx, async (em) => {
    await lockRow(ctx, em, extApps, { id, verb: 'update' })
    await runNamed(em, limitCredentials, [Number(id), new Date(Date.now() + overlap * MINUTE_MS)])
    return addCredential(em, Number(id), null)
  })
