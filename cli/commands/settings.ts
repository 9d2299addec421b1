import { defineCommand } from 'citty'
import type { SettingValue } from '../../routers/core/settings.ts'
import { listCurrentSettings } from '../../server/config/env.ts'
import { type CommandContext, json } from '../command-context.ts'
import { wrapText } from '../output.ts'

/** Works with invalid settings, because it helps to find the mistakes. */
export const settingsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List all settings with their type, default, current value and meaning.' },
    args: { json },
    run() {
      const record = listCurrentSettings(context.env)
      context.print({ record, text: record.map(formatSetting).join('\n\n') })
    },
  })

/** Prints a setting as a line of `.env`, and below it its meaning, type and default. */
function formatSetting({ name, value, type, default: fallback, meaning }: SettingValue): string {
  const state = value === fallback ? ' (default)' : fallback === '' ? '' : ` (default ${fallback})`
  return `${name}=${value}\n${wrapText('    ', `${meaning} ${type}${state}`)}`
}
