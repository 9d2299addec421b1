import type { EntityManager } from '@mikro-orm/postgresql'
import { ExtApp } from '../../entities/apps/ext-app.ts'
import { ExtAppCredential } from '../../entities/apps/ext-app-credential.ts'
import { hashSecret, mintSecret, writeToken } from '../../entities/identity/token-format.ts'

/** Gives an app a further credential. Its text leaves here once; what is kept cannot give it back. */
export async function addCredential(em: EntityManager, appId: number, expiresAt: Date | null): Promise<string> {
  const secret = mintSecret()
  const app = em.getReference(ExtApp, appId)
  const credential = em.create(ExtAppCredential, { app, hash: hashSecret(secret), expiresAt })
  await em.flush()
  return writeToken({ id: credential.id, secret, kind: 'app' })
}
