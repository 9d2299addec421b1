import { existsSync } from 'node:fs'
import { z } from 'zod'
import { describeSettings, type Env, type SettingRow, settings } from './settings.ts'

/** Reads the environment, and a `.env` file beside the service, once at start; throws one readable list of what is wrong. */
export function readEnv(source: NodeJS.ProcessEnv = processEnv()): Env {
  const present = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== ''))
  const parsed = settings.safeParse(present)
  if (!parsed.success) throw new SettingsError(z.prettifyError(parsed.error))
  return { ...parsed.data, variables: present }
}

export class SettingsError extends Error {
  constructor(problems: string) {
    super(`The settings are not valid.\n${problems}`)
    this.name = 'SettingsError'
  }
}

/** All settings with what holds now, valid or not; of a secret only whether it is set. */
export function currentSettings(source: NodeJS.ProcessEnv = processEnv()): (SettingRow & { value: string })[] {
  return describeSettings().map(({ meaning, ...row }) => {
    const set = source[row.name]
    return { ...row, value: set && row.secret ? '********' : set || row.default, meaning }
  })
}

export function processEnv(): NodeJS.ProcessEnv {
  if (existsSync('.env')) process.loadEnvFile('.env')
  return process.env
}
