import { Inject, Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { LRUCache } from 'lru-cache';
import { Strategy } from 'passport-jwt';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import type { AuthenticatedRequest } from './access.decorators.js';
import type { Caller } from './caller.js';
import { CallerResolver } from './caller.resolver.js';
import { apiSurfaceOf } from './api-surface.js';
import { TOKEN_ALGORITHM, tokenClaims } from './login-token.js';
import type { TokenClaims } from './login-token.js';

/** Verifying a signature takes some 100 µs, which is more than everything else this process does to authenticate. */
const CACHED_TOKENS = 10_000;

/** Verifies the login token that the guard has read from the request, and resolves its caller. */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy) {
  private readonly verified = new LRUCache<string, TokenClaims>({ max: CACHED_TOKENS });

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly callers: CallerResolver,
  ) {
    super({
      jwtFromRequest: ({ credentials }: AuthenticatedRequest) => credentials?.token ?? null,
      secretOrKey: config.tokenKey,
      algorithms: [TOKEN_ALGORITHM],
      passReqToCallback: true,
    });
  }

  /** Runs on a copy of the strategy that Passport makes for each request and gives `success`, `fail` and `error`. */
  override authenticate(request: AuthenticatedRequest): void {
    const claims = this.verified.get(request.credentials?.token ?? '');
    if (!claims || claims.exp * 1_000 <= Date.now()) {
      super.authenticate(request);
      return;
    }
    this.validate(request, claims).then(
      (caller) => {
        if (caller) this.success(caller);
        else this.fail(401);
      },
      (error: unknown) => {
        this.error(error as Error);
      },
    );
  }

  /** The caller, or undefined when the token is of another client or its sign-in has ended. */
  async validate(request: AuthenticatedRequest, payload: unknown): Promise<Caller | undefined> {
    const { credentials } = request;
    const claims = tokenClaims.safeParse(payload).data;
    if (!credentials || !claims || claims.clientid !== credentials.clientId) return undefined;
    this.verified.set(credentials.token, claims);
    const caller = await this.callers.resolve(claims);
    const origin = apiSurfaceOf(request);
    return caller && caller.origin !== origin ? { ...caller, origin } : caller;
  }
}
