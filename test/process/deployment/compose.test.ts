import { describe, expect, test } from 'vitest'
import { readCompose, substituteVariables } from '../../kit/compose/compose-file.ts'

const compose = await readCompose()

describe('compose.yaml', () => {
  test('mounts every file that the settings name, and leaves time for the stop', () => {
    for (const name of ['svc', 'svc-2'] as const) {
      const { environment, volumes = [], stop_grace_period: grace = '' } = compose.services[name]

      expect(volumes.map((volume) => volume.split(':')[1])).toEqual(
        expect.arrayContaining([environment['AI_CONFIG'], environment['DATA_DIR']]),
      )
      // The sum of the defaults of DRAIN_DELAY and SHUTDOWN_TIMEOUT, and some seconds to close the database.
      expect(Number.parseInt(grace, 10)).toBeGreaterThanOrEqual(40)
    }
  })

  test('asks the service how it is as its probe should', () => {
    const { healthcheck = {} } = compose.services.svc

    expect(healthcheck).toMatchObject({ interval: '30s', timeout: '10s', retries: 3, start_period: '30s' })
    expect(String(healthcheck['test'])).toContain('/health')
  })

  test.each(Object.entries(compose.services))(
    'gives the container %s an ordinary user, a read-only disk and resource limits',
    (name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        user: expect.not.stringMatching(/^(0|root)/),
        mem_limit: expect.any(String),
        cpus: expect.anything(),
        pids_limit: expect.any(Number),
        ulimits: { nofile: expect.any(Number) },
      })
      expect(Boolean(service.ports)).toBe(name === 'caddy')
    },
  )

  test('has the key-value store forget what it can before its memory is full', () => {
    const { command = [], mem_limit = '' } = compose.services.valkey
    const bytesOf = (text: string) => Number.parseInt(substituteVariables(text, {}), 10)
    const given = (flag: string) => command[command.indexOf(flag) + 1] ?? ''

    expect(bytesOf(given('--maxmemory'))).toBeLessThanOrEqual(0.8 * bytesOf(mem_limit))
    expect(given('--maxmemory-policy')).toBe('volatile-lru')
  })

  test('keeps the stores in an internal network, and the proxy out of it', () => {
    const { svc, caddy, postgres, valkey } = compose.services

    expect(compose.networks['back']).toEqual({ internal: true })
    expect([svc.networks, caddy.networks]).toEqual([['front', 'back'], ['front']])
    expect([postgres.networks, valkey.networks]).toEqual([['back'], ['back']])
  })
})
