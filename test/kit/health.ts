import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hooks } from '../../routers/core/hooks.ts'
import type { TestApp } from './app.ts'

type Check = { name: string; status: string; message: string; response_time?: number | null }
type Report = { status: string; timestamp: string; checks: Check[] }

export async function getHealth(svc: TestApp, options = {}) {
  const response = await svc.send('GET', '/health', options)
  return { code: response.status, ...((await response.json()) as Report) }
}

export const checkNames = ({ checks }: Report) => checks.map(({ name }) => name)
export const findCheck = ({ checks }: Report, name: string) => checks.find((check) => check.name === name)

/** The names of the checks of a deep check of an installation without extensions. */
export const deepChecks = ['database', 'cache', 'kvstore', 'storage']

/** Returns the message of a part of a replica. */
export function readReplicaPart({ services }: TestApp, name: 'realtime' | 'changeBus'): string | undefined {
  const parts: Hooks['replica-asked']['parts'] = {}
  services.process.hooks.emit('replica-asked', { parts })
  return parts[name]?.message
}

/** The file of the health timer. */
export const markerPath = (folder: string) => join(folder, 'svc_health_timer_marker.json')

/** The marker's content after a failed check. */
export const failedMarker = JSON.stringify({ failed: true, quickChecks: 0 })

export async function createTemporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), 'svc-health-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
